/** The fenced blocks of everything that people read, and who checks each. */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { blocksOf, ROOT, type Block } from '../../gitops/manifests.ts';

/** The pages, with those for contributors. */
export const PAGES: readonly string[] = [
  'README.md',
  ...globSync(['*.md', '{docs,examples}/**/*.md', '{cli,local,helm}/README.md'], { cwd: ROOT }).filter((path) => path !== 'README.md'),
].filter((path) => path !== 'CHANGELOG.md');

export const allBlocks = (): Block[] => [...new Set(PAGES)].flatMap(blocksOf);

/** A block that another test reads or runs, by a phrase in it or by its language. */
interface Elsewhere {
  page: string;
  phrase: string;
  language?: string;
  /** The test, or the reason why nothing of ours is in the block. */
  by: string;
}

/** Blocks that the tests of this folder do not check. Each needs a test that does, or a reason. */
export const ELSEWHERE: readonly Elsewhere[] = [
  { page: 'docs/api.md', phrase: '', language: 'json', by: 'test/api/reference.test.ts' },
  { page: 'examples/clients/README.md', phrase: "from './curbcut/index.js'", by: 'test/journey/generated-clients.test.ts' },
  { page: 'examples/clients/README.md', phrase: 'from curbcut import', by: 'test/journey/generated-clients.test.ts' },
  { page: 'examples/clients/README.md', phrase: '"example/curbcut"', by: 'test/journey/generated-clients.test.ts' },
  { page: 'docs/webhooks.md', phrase: 'export function verify', by: 'test/facts/webhook-docs.test.ts' },
  { page: 'docs/webhooks.md', phrase: 'def verify', by: 'test/facts/webhook-docs.test.ts' },
  { page: 'docs/webhooks.md', phrase: '"type": "scan.completed"', by: 'test/facts/webhook-docs.test.ts' },
  { page: 'docs/gitops.md', phrase: 'route:', by: 'the configuration of Alertmanager' },
  { page: 'docs/gitops.md', phrase: 'max by (schedule_namespace', by: 'an alert of helm/alerts/curbcut.yaml' },
  { page: 'docs/contributing/architecture.md', phrase: 'POST /v1/ci/scans', by: 'a diagram' },
  { page: 'docs/scanning.md', phrase: 'Mozilla/5.0', by: 'text of a header' },
];

export const elsewhereOf = ({ from, text, language: own }: Block): Elsewhere | undefined =>
  ELSEWHERE.find(({ page, phrase, language = own }) => from.startsWith(`${page}:`) && text.includes(phrase) && language === own);

export const isShell = ({ language }: Block): boolean => language === '' || language === 'sh';

/** The documents of a YAML block. @throws Error if it is no YAML */
export function yamlOf({ text, from }: Block): Record<string, unknown>[] {
  return parseAllDocuments(text).map((document) => {
    const [problem] = [...document.errors, ...document.warnings];
    if (problem !== undefined) throw new Error(`${from}: ${problem.message}`);
    return document.toJS() as Record<string, unknown>;
  });
}

export const readFile = (path: string): string => readFileSync(join(ROOT, path), 'utf8');
