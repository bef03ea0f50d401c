/** The objects that a create or an update stores, from the decoded body of the request. */
import { randomInt, randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { timestamp } from '../../../platform/clock.ts';
import * as status from '../status.ts';
import type { KubeObject, ManagedFields, Meta, Resource } from '../types.ts';

const SUFFIX_ALPHABET = 'bcdfghjklmnpqrstvwxz2456789';
const suffix = (): string => Array.from({ length: 5 }, () => SUFFIX_ALPHABET[randomInt(SUFFIX_ALPHABET.length)]).join('');

/** Fields that only the server sets: copied from the stored object on every update. */
const SYSTEM_FIELDS = [
  'name',
  'namespace',
  'generateName',
  'uid',
  'creationTimestamp',
  'generation',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
] as const;

/** Orders the metadata's fields and drops empty ones. */
function tidied(metadata: Meta): Meta {
  const { labels, annotations, ownerReferences, finalizers, ...rest } = metadata as Meta & Record<string, unknown>;
  delete rest['managedFields'];
  delete rest['selfLink'];
  return {
    ...rest,
    ...(labels === undefined || Object.keys(labels).length === 0 ? {} : { labels }),
    ...(annotations === undefined || Object.keys(annotations).length === 0 ? {} : { annotations }),
    ...(ownerReferences === undefined || ownerReferences.length === 0 ? {} : { ownerReferences }),
    ...(finalizers === undefined || finalizers.length === 0 ? {} : { finalizers }),
  };
}

/** The metadata with other managed fields. */
export function withManagedFields(object: KubeObject, managedFields: ManagedFields[] | undefined): KubeObject {
  return managedFields === undefined ? object : { ...object, metadata: { ...object.metadata, managedFields } };
}

const withoutMeta = (object: KubeObject, ...also: string[]): Record<string, unknown> => {
  const rest: Record<string, unknown> = { ...object };
  for (const part of ['metadata', ...also]) delete rest[part];
  return rest;
};

/** Sets the fields of a new object that only the server sets. @throws StatusError if its metadata contradicts the request */
export function completeNew(object: KubeObject, resource: Resource, namespace: string, now: Date): void {
  const given = object.metadata;
  if (given.namespace !== undefined && given.namespace !== '' && given.namespace !== namespace) {
    throw status.badRequest('the namespace of the provided object does not match the namespace sent on the request');
  }
  if (given.resourceVersion !== undefined && given.resourceVersion !== '') {
    throw new status.StatusError(500, '', 'resourceVersion should not be set on objects to be created');
  }
  if (!given.name && given.generateName) given.name = `${given.generateName}${suffix()}`;
  given.name ??= '';
  object.metadata = {
    ...tidied(given),
    ...(resource.namespaced ? { namespace } : {}),
    uid: randomUUID(),
    resourceVersion: '',
    creationTimestamp: timestamp(now),
  };
  delete object.metadata.deletionTimestamp;
  delete object.metadata.deletionGracePeriodSeconds;
  delete object.metadata.generation;
  if (!resource.custom) return;
  object.metadata.generation = 1;
  if (resource.statusSubresource) delete object['status'];
}

/** Checks that the body of an update is of the stored object. @throws StatusError */
export function checkIdentity(resource: Resource, object: KubeObject, old: KubeObject): void {
  const { name, namespace, uid, resourceVersion } = object.metadata;
  if (name !== old.metadata.name) {
    throw status.badRequest(`the name of the object (${name ?? ''}) does not match the name on the URL (${old.metadata.name})`);
  }
  if (namespace !== undefined && namespace !== '' && namespace !== old.metadata.namespace) {
    throw status.badRequest('the namespace of the object does not match the namespace on the request');
  }
  if (resourceVersion !== undefined && resourceVersion !== '' && resourceVersion !== old.metadata.resourceVersion) {
    throw status.conflict(resource, old.metadata.name);
  }
  if (uid !== undefined && uid !== '' && uid !== old.metadata.uid) {
    const key = `/registry/${resource.group === '' || !resource.custom ? '' : `${resource.group}/`}${resource.plural}/${namespace ?? old.metadata.namespace ?? ''}/${name}`;
    const why = `StorageError: invalid object, Code: 4, Key: ${key}, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: ${uid}, UID in object meta: ${old.metadata.uid}`;
    throw status.conflict(resource, old.metadata.name, why);
  }
  if (resource.custom && (resourceVersion === undefined || resourceVersion === '')) {
    const cause = {
      reason: 'FieldValueInvalid',
      message: 'Invalid value: 0: must be specified for an update',
      field: 'metadata.resourceVersion',
    };
    throw status.invalid({ ...resource, kind: resource.plural }, old.metadata.name, [cause]);
  }
}

/** The object of an update with the fields of the stored one that this update may not change. @param subresource `status` or empty */
export function withStoredParts(object: KubeObject, stored: KubeObject, resource: Resource, subresource: string): KubeObject {
  const system = Object.fromEntries(
    SYSTEM_FIELDS.map((field) => [field, stored.metadata[field]]).filter(([, value]) => value !== undefined),
  );
  const metadata = { ...tidied(object.metadata) } as Meta & Record<string, unknown>;
  for (const field of SYSTEM_FIELDS) delete metadata[field];
  object.metadata = { ...metadata, ...system, resourceVersion: stored.metadata.resourceVersion } as Meta;
  if (subresource === 'status') {
    object = resource.custom
      ? { ...stored, status: object['status'] }
      : {
          ...stored,
          ...object,
          spec: stored['spec'],
          metadata: { ...object.metadata, ownerReferences: stored.metadata.ownerReferences },
        };
    if (object['status'] === undefined) delete object['status'];
    object.metadata = tidied(object.metadata);
  } else if (resource.statusSubresource) {
    if (stored['status'] === undefined) delete object['status'];
    else object['status'] = stored['status'];
  }
  return object;
}

/** Counts a change of a custom resource, in place. */
export function countGeneration(object: KubeObject, stored: KubeObject, { statusSubresource }: Resource): void {
  const skipped = statusSubresource ? ['status'] : [];
  const changed = !isDeepStrictEqual(withoutMeta(object, ...skipped), withoutMeta(stored, ...skipped));
  if (changed) object.metadata = { ...object.metadata, generation: (stored.metadata.generation ?? 1) + 1 };
}

export const isUnchanged = (object: KubeObject, stored: KubeObject): boolean =>
  isDeepStrictEqual({ ...object, metadata: tidied(object.metadata) }, { ...stored, metadata: tidied(stored.metadata) }) &&
  isDeepStrictEqual(object.metadata.managedFields, stored.metadata.managedFields);
