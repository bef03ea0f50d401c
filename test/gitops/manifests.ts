/** The manifests that people copy: every file of examples/ and every YAML block of the pages that print some. */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import type { KubernetesObject } from '../../core/protocol/custom-resources.ts';
import type { ResourceType } from '../../platform/kubernetes/kubernetes.ts';

export const ROOT = join(import.meta.dirname, '..', '..');
export const PAGES = ['README.md', ...globSync('docs/**/*.md', { cwd: join(import.meta.dirname, '..', '..') }).sort()];

export interface Manifest {
  /** The file, and the line of a page at which the block begins. */
  from: string;
  object: KubernetesObject & { spec?: Record<string, unknown>; data?: Record<string, string> };
}

/** Something that is YAML, but no manifest: the chart's values, or what another tool reads. */
const isManifest = (value: unknown): value is Manifest['object'] => typeof value === 'object' && value !== null && 'apiVersion' in value;
/** The fields of a scan's spec of which pages print a part. */
const PARTS_OF_SPEC = ['auth', 'crawl'];
/** The scan that a part of one is about, which an API server can judge. Null: the value is no such part. */
export function fragmentOf(value: unknown): Manifest['object'] | null {
  if (typeof value !== 'object' || value === null) return null;
  const scan = (more: object) => ({ apiVersion: 'curbcut.dev/v1', kind: 'AccessibilityScan', ...more }) as Manifest['object'];
  const names = Object.keys(value);
  const spec = { url: 'https://staging.example.com/' };
  if (names.length > 0 && names.every((name) => PARTS_OF_SPEC.includes(name)))
    return scan({ metadata: { name: 'part' }, spec: { ...spec, ...value } });
  return names.join() === 'metadata' ? scan({ ...value, spec }) : null;
}
/** A file for kustomize itself, which no cluster knows. */
const isKustomization = ({ apiVersion }: KubernetesObject): boolean => apiVersion.startsWith('kustomize.config.k8s.io/');

function documents(text: string, from: string): unknown[] {
  return parseAllDocuments(text).map((document) => {
    const [problem] = document.errors;
    if (problem !== undefined) throw new Error(`${from}: ${problem.message}`);
    return document.toJS() as unknown;
  });
}

/** A fenced block of a page. */
export interface Block {
  from: string;
  /** The word after the fence: yaml, sh, or empty. */
  language: string;
  text: string;
}

export function blocksOf(page: string): Block[] {
  const text = readFileSync(join(ROOT, page), 'utf8');
  return [...text.matchAll(/^```(\w*)\n([^]*?)^```$/gm)].map(({ index, 1: language, 2: body }) => ({
    from: `${page}:${text.slice(0, index).split('\n').length}`,
    language: language!,
    text: body!,
  }));
}

/** The manifests of a YAML text. */
export const manifestsIn = (text: string, from: string): Manifest[] =>
  documents(text, from)
    .map((value) => fragmentOf(value) ?? value)
    .filter(isManifest)
    .filter((object) => !isKustomization(object))
    .map((object) => ({ from, object }));

export const exampleFiles = (): string[] => globSync('examples/**/*.yaml', { cwd: ROOT }).sort();

/** Every manifest of examples/ and of the pages. */
export function allManifests(): Manifest[] {
  const files = exampleFiles().flatMap((path) => manifestsIn(readFileSync(join(ROOT, path), 'utf8'), path));
  const blocks = PAGES.flatMap((page) => blocksOf(page).filter(({ language }) => language === 'yaml'));
  return [...files, ...blocks.flatMap(({ text, from }) => manifestsIn(text, from))];
}

interface Definition {
  spec: { group: string; scope: string; names: { kind: string; plural: string } };
}

/** A kind that a test can send to an API server. */
export interface Kind {
  type: ResourceType;
  namespaced: boolean;
}

/** The kinds of definition files, by `group/Kind`. */
export function kindsOf(definitions: readonly string[]): Map<string, (version: string) => Kind> {
  return new Map(
    definitions
      .flatMap((path) => documents(readFileSync(path, 'utf8'), path) as (Definition | null)[])
      .flatMap((definition) => {
        if (definition === null) return [];
        const { group, scope, names } = definition.spec;
        const kind = (version: string): Kind => ({ type: { group, version, plural: names.plural }, namespaced: scope === 'Namespaced' });
        return [[`${group}/${names.kind}`, kind] as const];
      }),
  );
}

/** `group/Kind`, as in the keys of `kindsOf`. */
export function groupKindOf({ apiVersion, kind }: KubernetesObject): string {
  const [group] = apiVersion.includes('/') ? apiVersion.split('/') : [''];
  return `${group}/${kind}`;
}
export const versionOf = ({ apiVersion }: KubernetesObject): string => apiVersion.split('/').at(-1)!;
