/** Validates objects against the schemas that Kubernetes publishes, as `kubectl apply --validate=strict` does, without a cluster. */
import { readFileSync } from 'node:fs';
import { Ajv } from 'ajv';
import addFormats from 'ajv-formats';
import { parse } from 'yaml';
import type { ModuleFiles } from './go-modules.ts';

/** The OpenAPI document of Kubernetes, and the definition of routes. */
export const SCHEMAS: readonly ModuleFiles[] = [
  ['k8s.io/kubernetes', 'v1.36.3', 'api/openapi-spec/swagger.json'],
  ['sigs.k8s.io/gateway-api', 'v1.6.3', 'config/crd/standard/gateway.networking.k8s.io_httproutes.yaml'],
];

interface Schema {
  [keyword: string]: unknown;
  type?: string;
  format?: string;
  properties?: Record<string, Schema>;
  items?: Schema;
  additionalProperties?: Schema | boolean;
}
interface Kind {
  group: string;
  version: string;
  kind: string;
}
interface Definition {
  spec: { group: string; names: { kind: string }; versions: { name: string; schema: { openAPIV3Schema: Schema } }[] };
}
export interface KubernetesSchemas {
  /** The mistakes in an object. @returns null if there is no schema for its kind */
  problemsOf(object: { apiVersion: string; kind: string }): string[] | null;
}

const keyOf = ({ group, version, kind }: Kind): string => `${group === '' ? '' : `${group}/`}${version} ${kind}`;

/** Types that OpenAPI describes as strings, or not at all. */
const SPECIAL: Readonly<Record<string, Schema>> = {
  'io.k8s.apimachinery.pkg.util.intstr.IntOrString': { type: ['string', 'integer'] as unknown as string },
  'io.k8s.apimachinery.pkg.api.resource.Quantity': { type: ['string', 'number'] as unknown as string },
  'io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSON': {},
  'io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrArray': {},
  'io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrBool': {},
  'io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrStringArray': {},
};

/** A schema without unknown fields, and without what only OpenAPI knows. */
function strict(schema: Schema): Schema {
  const { properties, items, additionalProperties, format, ...rest } = schema;
  const kept = Object.fromEntries(Object.entries(rest).filter(([keyword]) => !/^(x-|description$|default$|nullable$)/.test(keyword)));
  return {
    ...kept,
    ...(format !== undefined && /^(date-time|byte|int32)$/.test(format) && { format }),
    ...(properties && { properties: Object.fromEntries(Object.entries(properties).map(([name, one]) => [name, strict(one)])) }),
    ...(items && { items: strict(items) }),
    ...(typeof additionalProperties === 'object'
      ? { additionalProperties: strict(additionalProperties) }
      : properties !== undefined && schema['x-kubernetes-preserve-unknown-fields'] !== true && { additionalProperties: false }),
  };
}

/** @param files the OpenAPI document and custom resource definitions */
export function readSchemas(files: readonly string[]): KubernetesSchemas {
  const ajv = addFormats.default(new Ajv({ strict: false, allErrors: true }));
  const idOf = new Map<string, string>();
  for (const file of files) {
    const text = readFileSync(file, 'utf8');
    if (file.endsWith('.json')) {
      const { definitions } = JSON.parse(text) as { definitions: Record<string, Schema> };
      const all = Object.entries(definitions).map(([name, schema]) => [name, SPECIAL[name] ?? strict(schema)]);
      ajv.addSchema({ $id: 'kubernetes', definitions: Object.fromEntries(all) as object });
      for (const [name, schema] of Object.entries(definitions))
        for (const kind of (schema['x-kubernetes-group-version-kind'] as Kind[] | undefined) ?? [])
          idOf.set(keyOf(kind), `kubernetes#/definitions/${name}`);
    } else {
      const { group, names, versions } = (parse(text) as Definition).spec;
      for (const { name, schema } of versions) {
        const key = keyOf({ group, version: name, kind: names.kind });
        const { properties = {} } = strict(schema.openAPIV3Schema);
        ajv.addSchema({
          $id: key,
          type: 'object',
          additionalProperties: false,
          properties: { ...properties, metadata: { type: 'object' } },
        });
        idOf.set(key, key);
      }
    }
  }
  return {
    problemsOf(object) {
      const id = idOf.get(`${object.apiVersion} ${object.kind}`);
      if (id === undefined) return null;
      const validate = ajv.getSchema(id)!;
      void validate(object);
      return (validate.errors ?? []).map(({ instancePath, message, params }) => `${instancePath} ${message} ${JSON.stringify(params)}`);
    },
  };
}
