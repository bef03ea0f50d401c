/** Admission of written objects: unknown fields, types, defaults, schema and rules. */
import { blocksRules, defaulted, fieldPath, pruned, violations } from '../schemas/validate.ts';
import { brokenRules, hasRules } from '../schemas/cel.ts';
import { groupVersion } from '../resources/builtins.ts';
import { badRequest, type Cause, forbiddenValue, invalid, invalidValue, requiredValue } from '../status.ts';
import type { Json, JsonObject, KubeObject, Meta, Resource, Schema } from '../types.ts';

/** Validates metadata: names, labels, finalizers. */
const SUBDOMAIN = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const SUBDOMAIN_RULE =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const LABEL = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;
const LABEL_RULE =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const QUALIFIED = /^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\/)?([A-Za-z0-9][-A-Za-z0-9_.]{0,62})?[A-Za-z0-9]$/;
const QUALIFIED_RULE =
  "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const LABEL_VALUE = /^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$/;
const LABEL_VALUE_RULE =
  "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

/** All errors in an object's metadata. @param old the previous object of an update */
function metadataCauses(object: KubeObject, resource: Resource, old?: KubeObject): Cause[] {
  const { metadata } = object;
  const causes: Cause[] = [];
  if (metadata.name === '' || metadata.name === undefined) {
    causes.push(requiredValue('metadata.name', 'name or generateName is required'));
  } else if (old === undefined) {
    const isLabel = resource.plural === 'namespaces';
    const [shape, rule, longest] = isLabel ? ([LABEL, LABEL_RULE, 63] as const) : ([SUBDOMAIN, SUBDOMAIN_RULE, 253] as const);
    if (metadata.name.length > longest) causes.push(invalidValue('metadata.name', metadata.name, `must be no more than ${longest} bytes`));
    if (!shape.test(metadata.name)) causes.push(invalidValue('metadata.name', metadata.name, rule));
  }
  for (const [key, value] of Object.entries(metadata.labels ?? {})) {
    if (!QUALIFIED.test(key)) causes.push(invalidValue('metadata.labels', key, QUALIFIED_RULE));
    if (value.length > 63) causes.push(invalidValue('metadata.labels', value, 'must be no more than 63 bytes'));
    if (!LABEL_VALUE.test(value)) causes.push(invalidValue('metadata.labels', value, LABEL_VALUE_RULE));
  }
  for (const key of Object.keys(metadata.annotations ?? {})) {
    if (!QUALIFIED.test(key.toLowerCase())) causes.push(invalidValue('metadata.annotations', key, QUALIFIED_RULE));
  }
  for (const name of metadata.finalizers ?? []) {
    if (!QUALIFIED.test(name)) causes.push(invalidValue('metadata.finalizers', name, QUALIFIED_RULE));
  }
  (metadata.ownerReferences ?? []).forEach((owner, index) => {
    for (const part of ['apiVersion', 'kind', 'name', 'uid'] as const) {
      if (!owner[part])
        causes.push(
          invalidValue(`metadata.ownerReferences[${index}].${part}`, '', `${part === 'apiVersion' ? 'version' : part} must not be empty`),
        );
    }
  });
  if (old?.metadata.deletionTimestamp !== undefined) causes.push(...newFinalizers(metadata, old.metadata, resource));
  return causes;
}

function newFinalizers(metadata: Meta, old: Meta, resource: Resource): Cause[] {
  const added = (metadata.finalizers ?? []).filter((name) => old.finalizers?.includes(name) !== true);
  if (added.length === 0) return [];
  const list = added.map((name) => JSON.stringify(name)).join(', ');
  const cause = forbiddenValue(
    'metadata.finalizers',
    `no new finalizers can be added if the object is being deleted, found new finalizers []string{${list}}`,
  );
  // The real server validates custom resources twice.
  return resource.custom ? [cause, cause] : [cause];
}

export interface WriteOptions {
  /** How to handle unknown fields: `Ignore`, `Warn` (the real server's default) or `Strict`. */
  fieldValidation?: string;
  dryRun?: boolean;
  /** The name of the writer. */
  fieldManager?: string;
  /** Receives the warnings for the client. */
  warnings?: string[];
}

const asJson = (object: KubeObject): JsonObject => object as unknown as JsonObject;
const asObject = (value: Json | undefined): KubeObject => value as unknown as KubeObject;

/**
 * The object in a body without unknown fields, as a new copy.
 * @throws StatusError 400 if the body has another type, or has unknown fields and validation is strict
 */
export function decodeBody(body: Json, resource: Resource, options: WriteOptions): KubeObject {
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw badRequest(`the object provided is unrecognized (must be of type ${resource.kind})`);
  const version = groupVersion(resource);
  const { kind, apiVersion } = body;
  if (resource.custom && (typeof kind !== 'string' || kind === '')) {
    const text = JSON.stringify(body);
    throw badRequest(`the object provided is unrecognized (must be of type ${resource.kind}): Object 'Kind' is missing in '${text}'`);
  }
  if (apiVersion !== undefined && apiVersion !== version) {
    throw badRequest(`the API version in the data (${String(apiVersion)}) does not match the expected API version (${version})`);
  }
  const cannot = (why: string): Error =>
    badRequest(`${resource.kind} in version "${resource.version}" cannot be handled as a ${resource.kind}: ${why}`);
  if (kind !== undefined && kind !== resource.kind) {
    if (resource.custom)
      throw invalid({ ...resource, kind: String(kind) }, nameOf(body), [invalidValue('kind', kind, `must be ${resource.kind}`)]);
    throw badRequest(
      `${String(kind)} in version "${resource.version}" cannot be handled as a ${resource.kind}: no kind "${String(kind)}" is registered`,
    );
  }
  const unknown: string[] = [];
  const given = asObject(structuredClone(pruned(body, resource.schema, '', unknown) ?? null));
  const { kind: _kind, apiVersion: _version, metadata = {} as KubeObject['metadata'], ...content } = given;
  const object: KubeObject = { kind: resource.kind, apiVersion: version, metadata, ...content };
  if (unknown.length > 0 && options.fieldValidation !== 'Ignore') {
    const said = unknown.map((path) => `unknown field "${path}"`);
    if (options.fieldValidation === 'Strict') throw cannot(`strict decoding error: ${said.join(', ')}`);
    options.warnings?.push(...said);
  }
  const metadataOnly = { properties: { metadata: resource.schema.properties?.['metadata'] ?? {} } };
  const wrong = mistyped(asJson(object), resource.custom ? metadataOnly : resource.schema, '');
  if (wrong !== undefined) throw cannot(`the value of ${wrong} has a wrong type`);
  if (!resource.custom) dropNulls(asJson(object));
  return object;
}

const nameOf = (body: JsonObject): string => String((body['metadata'] as JsonObject | undefined)?.['name'] ?? '');

/** For built-in kinds, null is the same as absent, because the real server decodes them into Go types. */
function dropNulls(value: JsonObject): void {
  for (const [key, item] of Object.entries(value)) {
    if (item === null && !/time|timestamp$/i.test(key)) delete value[key];
    else if (Array.isArray(item))
      item.forEach((element) => typeof element === 'object' && element !== null && !Array.isArray(element) && dropNulls(element));
    else if (typeof item === 'object' && item !== null) dropNulls(item);
  }
}

/** The first field below a path whose value has another type than its schema; undefined if all types match. */
function mistyped(value: Json | undefined, schema: Schema, path: string): string | undefined {
  if (value === undefined || value === null) return undefined;
  const type = Array.isArray(value) ? 'array' : typeof value;
  const wanted = schema.type === 'integer' ? 'number' : schema.type;
  if (wanted !== undefined && wanted !== type) return path;
  if (typeof value === 'string') return schema.format === 'byte' && !/^[A-Za-z0-9+/]*={0,2}$/.test(value) ? path : undefined;
  if (typeof value !== 'object') return undefined;
  for (const [key, item] of Object.entries(value)) {
    const other = typeof schema.additionalProperties === 'object' ? schema.additionalProperties : {};
    const below = Array.isArray(value) ? schema.items : schema.properties?.[key];
    const found = mistyped(item, below ?? other, fieldPath(path, key));
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Applies the defaults of a custom resource's schema. */
export function withDefaults(object: KubeObject, resource: Resource): KubeObject {
  return resource.custom ? asObject(defaulted(asJson(object), resource.schema)) : object;
}

/**
 * Validates an object before it is stored.
 * @param old the previous object of an update
 * @throws StatusError 422 with all causes
 */
export function check(object: KubeObject, resource: Resource, old?: KubeObject, subresource = ''): void {
  const causes: Cause[] = metadataCauses(object, resource, old);
  if (resource.custom) {
    const { metadata: _, ...given } = asJson(object);
    const { metadata: __, ...below } = resource.schema.properties ?? {};
    // Every object has metadata, which metadataCauses has checked, so a schema that requires it is satisfied.
    const required = resource.schema.required?.filter((name) => name !== 'metadata');
    const found = violations(given, { ...resource.schema, required, properties: below }, '');
    // For /status, the real server omits the first part of the path from the message.
    const brief = (cause: Cause): Cause => ({ ...cause, message: cause.message.replace(/: status\.(\S+ in body)/, ': $1') });
    causes.push(...(subresource === 'status' ? found.map(brief) : found));
    if (hasRules(resource.schema)) {
      if (blocksRules(causes)) {
        const why =
          'some validation rules were not checked because the object was invalid; correct the existing errors to complete validation';
        causes.push(invalidValue('<nil>', null, why));
      } else {
        const part = subresource === 'status' ? 'status' : undefined;
        const schema =
          part === undefined
            ? resource.schema
            : { ...resource.schema, properties: { status: resource.schema.properties?.['status'] ?? {} } };
        causes.push(...brokenRules(asJson(object), old === undefined ? undefined : asJson(old), schema, ''));
      }
    }
  }
  if (causes.length > 0) throw invalid(resource, object.metadata.name, causes);
}
