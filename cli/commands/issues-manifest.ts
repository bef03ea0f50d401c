/** Reads KnownIssues manifests, in YAML or JSON, and says in which line a mistake is. */
import { readFile } from 'node:fs/promises';
import { Value } from 'typebox/value';
import { isNode, LineCounter, parseAllDocuments, Schema, type Document } from 'yaml';
import { readDateTime } from '../../core/date-time.ts';
import { API_VERSION } from '../../core/protocol/custom-resources.ts';
import { KNOWN_ISSUES_KIND, KnownIssuesSpec } from '../../core/protocol/known-issues-resources.ts';
import { claimKey, endMistake, readSite, SAME_TARGET, targetMistake, type KnownIssue } from '../../core/scan/known-issues.ts';
import { CliError, errorMessage } from '../errors.ts';

/** A manifest, and the document of the file that it was read from. */
export interface Manifest {
  name: string;
  /** As `siteOf` returns it. */
  site: string;
  spec: KnownIssuesSpec;
  document: Document;
}

/** All documents of a file, also those of other kinds, and the manifests among them. */
export interface ManifestFile {
  documents: readonly Document[];
  manifests: readonly Manifest[];
}

/**
 * Quotes what kubectl, which reads YAML 1.1, would take for something else than text, such as `no` and `1:30`. It takes timestamps for
 * text, so that they stay as they are written.
 */
export const KUBERNETES_YAML = {
  compat: new Schema({ schema: 'yaml-1.1' }).tags.filter(({ tag }) => tag !== 'tag:yaml.org,2002:timestamp'),
};

type Path = readonly (string | number)[];

/** A mistake, and the field that has it. */
interface Mistake {
  at: Path;
  message: string;
}

/** @throws CliError that names the file */
export async function readManifestFile(file: string, now: Date): Promise<ManifestFile> {
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    throw new CliError(`The known issues ${file} cannot be read: ${errorMessage(error)}.`);
  });
  const read = readManifests(text, file, now);
  if (read.manifests.length === 0) throw new CliError(`${file}, line 1: there is no ${KNOWN_ISSUES_KIND} manifest in it.`);
  return read;
}

/** Reads the text of a file. @throws CliError that names the file and the line of the first mistake */
export function readManifests(text: string, file: string, now: Date): ManifestFile {
  const lines = new LineCounter();
  const fail = (offset: number, message: string): never => {
    throw new CliError(`${file}, line ${lines.linePos(offset).line}: ${message}`);
  };
  // An empty text has no documents, but an object of another type.
  const parsed = parseAllDocuments(text, { ...KUBERNETES_YAML, lineCounter: lines, prettyErrors: false, logLevel: 'error' });
  const documents: readonly Document[] = Array.isArray(parsed) ? parsed : [];
  const manifests = documents.flatMap((document) => {
    const [broken] = document.errors;
    if (broken !== undefined) return fail(broken.pos[0], `this is not valid YAML: ${broken.message}.`);
    const value = valueOf(document, (message) => fail(offsetOf(document, []), message));
    if (value?.kind !== KNOWN_ISSUES_KIND) return [];
    const read = manifestOf(value, now);
    return read.ok ? [{ ...read.manifest, document }] : fail(offsetOf(document, read.mistake.at), messageOf(read.mistake));
  });
  return { documents, manifests };
}

/** A resource before it is checked. */
interface Resource {
  apiVersion?: unknown;
  kind?: unknown;
  metadata?: { name?: unknown } | null;
  spec?: unknown;
}

function valueOf(document: Document, fail: (message: string) => never): Resource | null {
  try {
    return document.toJS({ maxAliasCount: 0 }) as Resource | null;
  } catch (error) {
    return fail(`this is not valid YAML: ${errorMessage(error)}.`);
  }
}

type ReadManifest = { ok: true; manifest: Omit<Manifest, 'document'> } | { ok: false; mistake: Mistake };

function manifestOf({ apiVersion, metadata, spec }: Resource, now: Date): ReadManifest {
  const wrong = (at: Path, message: string): ReadManifest => ({ ok: false, mistake: { at, message } });
  if (apiVersion !== API_VERSION) return wrong(['apiVersion'], `must be ${API_VERSION}`);
  const name = metadata?.name;
  if (typeof name !== 'string' || name === '') return wrong(['metadata', 'name'], 'must be a name');
  const [error] = Value.Errors(KnownIssuesSpec, spec);
  if (error !== undefined) return { ok: false, mistake: schemaMistake(error) };
  const read = spec as KnownIssuesSpec;
  const site = readSite(read.site);
  if (site === null) return wrong(['spec', 'site'], 'must be a host, such as www.example.com, or an address without a path');
  const live = new Set<string>();
  for (const [index, issue] of read.issues.entries()) {
    const at = ['spec', 'issues', index];
    const target = targetMistake(issue);
    if (target !== null) return wrong(at, target);
    const ends = readDateTime(issue.expiresAt);
    if (ends === null) return wrong([...at, 'expiresAt'], 'must be a date and time with a time zone, such as 2027-01-31T00:00:00Z');
    // One that has ended stays in the file until somebody prolongs or removes it.
    if (ends <= now) continue;
    const end = endMistake(ends, now);
    if (end !== null) return wrong([...at, 'expiresAt'], end);
    const key = claimKey(issue);
    if (live.has(key)) return wrong(at, SAME_TARGET);
    live.add(key);
  }
  return { ok: true, manifest: { name, site, spec: read } };
}

type SchemaError = ReturnType<typeof Value.Errors>[number];

function schemaMistake({ keyword, instancePath, params, message }: SchemaError): Mistake {
  const at = ['spec', ...instancePath.split('/').slice(1)].map((part) => (/^\d+$/.test(part) ? Number(part) : part));
  if (keyword === 'boolean') return { at, message: 'there is no such field' };
  if (keyword !== 'required') return { at, message };
  return { at, message: `${params.requiredProperties.join(' and ')} is missing` };
}

/** A field as people write it: `spec.issues[2].owner`. */
const messageOf = ({ at, message }: Mistake): string =>
  `${at.map((part) => (typeof part === 'number' ? `[${part}]` : `.${part}`)).join('').slice(1)}: ${message.replace(/\.$/, '')}.`; // prettier-ignore

/** Where a field begins, or what contains it if it is missing. */
function offsetOf(document: Document, path: Path): number {
  for (let length = path.length; length > 0; length -= 1) {
    const node = document.getIn(path.slice(0, length), true);
    if (isNode(node) && node.range) return node.range[0];
  }
  return document.contents?.range?.[0] ?? 0;
}

/** The known issues of one site, as a scan gets them. @param manifests in the order in which they are preferred */
export function issuesOf(manifests: readonly Manifest[], site: string): KnownIssue[] {
  const ofSite = manifests.filter((manifest) => manifest.site === site);
  return ofSite.flatMap(({ name, spec }) => spec.issues.map((issue, index) => knownIssueOf(issue, `${name}/${issue.name ?? index + 1}`)));
}

function knownIssueOf({ name: _, ...issue }: KnownIssuesSpec['issues'][number], id: string): KnownIssue {
  return { ...issue, id: id.slice(-128), expiresAt: readDateTime(issue.expiresAt)!.toISOString() };
}
