/**
 * Compares the custom resource definitions of a cluster with those of this version. A release may have none (`crds.enabled` of the
 * chart), and an API server silently drops the fields that its definitions do not have.
 */
import { readFile, readdir } from 'node:fs/promises';
import { parseAllDocuments } from 'yaml';
import { isForbidden, KubernetesError, type KubernetesConnection } from './kubernetes.ts';

/** The parts of an OpenAPI schema that are compared. */
export interface Schema {
  properties?: Readonly<Record<string, Schema>>;
  items?: Schema;
  additionalProperties?: Schema | boolean;
  enum?: readonly unknown[];
  'x-kubernetes-preserve-unknown-fields'?: boolean;
}

interface Definition {
  spec: {
    group: string;
    names: { kind: string };
    versions: readonly { name: string; schema: { openAPIV3Schema: Schema } }[];
  };
}

/** The schema of a kind. */
interface Expected {
  /** The path of the group's OpenAPI document. */
  path: string;
  kind: string;
  schema: Schema;
}

/** A cluster holds older definitions than this version needs, or none. */
export class OutdatedDefinitions extends Error {
  constructor(kind: string, missing: readonly string[]) {
    const first = missing.slice(0, 3).join(', ');
    const what =
      missing.length === 0
        ? `the cluster has no ${kind}`
        : `${kind} has no ${first}${missing.length > 3 ? ` (${missing.length} in all)` : ''}`;
    super(
      `The custom resource definitions are older than this version of Curbcut: ${what}. Upgrade the release with crds.enabled=true, or apply those of this version: kubectl apply --server-side --force-conflicts -f crds/`,
    );
    this.name = 'OutdatedDefinitions';
  }
}

const FOLDER = new URL('../../crds/', import.meta.url);

/** What an object's schema has besides the fields of its kind; the API server describes them itself. */
const COMMON = new Set(['apiVersion', 'kind', 'metadata']);

/**
 * The fields and values of enumerations that a schema lacks, as paths such as `spec.crawl.consent`. A schema may have more: fields
 * are only ever added.
 */
export function missingFields(expected: Schema, actual: Schema | undefined, path = ''): string[] {
  if (actual === undefined) return [path];
  const inside = (name: string): string => (path === '' ? name : `${path}.${name}`);
  const properties = Object.entries(expected.properties ?? {}).flatMap(([name, schema]) =>
    (path === '' && COMMON.has(name)) ||
    (actual['x-kubernetes-preserve-unknown-fields'] === true && actual.properties?.[name] === undefined)
      ? []
      : missingFields(schema, actual.properties?.[name], inside(name)),
  );
  const nested = [
    [expected.items, actual.items],
    [schemaOf(expected.additionalProperties), schemaOf(actual.additionalProperties)],
  ] as const;
  const values = actual.enum === undefined ? [] : (expected.enum ?? []).filter((value) => !actual.enum!.includes(value));
  return [
    ...properties,
    ...nested.flatMap(([own, other]) => (own === undefined ? [] : missingFields(own, other, `${path}[]`))),
    ...values.map((value) => `${path}=${String(value)}`),
  ];
}

const schemaOf = (value: Schema | boolean | undefined): Schema | undefined => (typeof value === 'object' ? value : undefined);

async function expectedSchemas(folder: URL): Promise<Expected[]> {
  const names = (await readdir(folder)).filter((name) => name.endsWith('.yaml'));
  const texts = await Promise.all(names.map((name) => readFile(new URL(name, folder), 'utf8')));
  return texts
    .flatMap((text) => parseAllDocuments(text).map((document) => document.toJS() as Definition))
    .flatMap(({ spec }) =>
      spec.versions.map(({ name, schema }) => ({
        path: `/openapi/v3/apis/${spec.group}/${name}`,
        kind: spec.names.kind,
        schema: schema.openAPIV3Schema,
      })),
    );
}

interface OpenApi {
  components?: { schemas?: Record<string, Schema & { 'x-kubernetes-group-version-kind'?: readonly { kind: string }[] }> };
}

/**
 * Returns a function that checks the definitions of a cluster until they are current: once, because they are replaced before a
 * version of Curbcut starts.
 * @param folder the definitions of this version
 * @returns a function that throws OutdatedDefinitions, or another error if the API server is unavailable
 */
export function createDefinitionCheck(connection: Pick<KubernetesConnection, 'request'>, folder = FOLDER): () => Promise<void> {
  let isCurrent = false;
  let expected: Promise<Expected[]> | undefined;

  const documentOf = (path: string): Promise<OpenApi | null> =>
    connection.request<OpenApi>('GET', path).catch((error: unknown) => {
      if (!(error instanceof KubernetesError)) throw error;
      // No group with this name, or a cluster whose discovery is restricted: its definitions cannot be compared.
      if (error.code === 404) return {};
      if (isForbidden(error)) return null;
      throw error;
    });

  return async () => {
    if (isCurrent) return;
    const kinds = await (expected ??= expectedSchemas(folder));
    const paths = [...new Set(kinds.map(({ path }) => path))];
    const documents = new Map(await Promise.all(paths.map(async (path) => [path, await documentOf(path)] as const)));
    for (const { path, kind, schema } of kinds) {
      const document = documents.get(path);
      if (document === null || document === undefined) continue;
      const actual = Object.values(document.components?.schemas ?? {}).find((one) =>
        one['x-kubernetes-group-version-kind']?.some((served) => served.kind === kind),
      );
      if (actual === undefined) throw new OutdatedDefinitions(kind, []);
      const missing = missingFields(schema, actual);
      if (missing.length > 0) throw new OutdatedDefinitions(kind, missing);
    }
    isCurrent = true;
    expected = undefined;
  };
}
