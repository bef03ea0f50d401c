/** Validates metadata: names, labels, finalizers. */
import { forbiddenValue, invalidValue, requiredValue, type Cause } from '../status.ts';
import type { KubeObject, Meta, Resource } from '../types.ts';

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
export function metadataCauses(object: KubeObject, resource: Resource, old?: KubeObject): Cause[] {
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
