/** The order of the pages of `/docs`. docs/contributing/ is for people who change Curbcut; no image contains it. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

const FOLDER = join(import.meta.dirname, '..', '..', 'docs');

/** The pages in the order in which `/docs` lists them: the file names without `.md`, which are also the addresses. */
export const DOC_GROUPS = [
  { title: 'Scans and reports', pages: ['scanning', 'signed-in-pages', 'reports', 'baseline'] },
  { title: 'Pipelines and programs', pages: ['api', 'ci', 'cli', 'webhooks', 'reference'] },
  { title: 'In the browser', pages: ['dashboard', 'public-scans'] },
  { title: 'Kubernetes', pages: ['kubernetes', 'gitops'] },
  {
    title: 'Run an installation',
    pages: ['install', 'production', 'chart', 'operate', 'sizing', 'security'],
  },
] as const;

export const DOC_NAMES: readonly string[] = DOC_GROUPS.flatMap(({ pages }) => [...pages]);

/** Reads the Markdown of every page. @throws Error if a file is missing: then the image is incomplete, and the API must not start */
export async function readDocs(): Promise<ReadonlyMap<string, string>> {
  return new Map(await Promise.all(DOC_NAMES.map(async (name) => [name, await readFile(join(FOLDER, `${name}.md`), 'utf8')] as const)));
}
