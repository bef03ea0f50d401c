/** The verbs on stored objects with the API server's semantics. HTTP requests and the controllers use them. */
import { randomInt, randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { check, decodeBody, withDefaults, type WriteOptions } from './admission.ts';
import { deleter, isFinished, type DeleteOptions, type Deletion } from './deletion.ts';
import { timestamp } from '../../../platform/clock.ts';
import * as status from '../status.ts';
import type { Store } from '../storage/store.ts';
import type { Json, KubeObject, Meta, Resource } from '../types.ts';

export interface Registry {
  get(resource: Resource, namespace: string, name: string): KubeObject;
  create(resource: Resource, namespace: string, body: Json, options?: WriteOptions): KubeObject;
  /**
   * @param change returns the new object
   * @param subresource empty, or `status` to write only the status
   */
  update(
    resource: Resource,
    namespace: string,
    name: string,
    change: (old: KubeObject) => Json,
    subresource?: string,
    options?: WriteOptions,
  ): KubeObject;
  remove(resource: Resource, namespace: string, name: string, options?: DeleteOptions): Deletion;
}

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

const withoutMeta = (object: KubeObject, ...also: string[]): Record<string, unknown> => {
  const rest: Record<string, unknown> = { ...object };
  for (const part of ['metadata', ...also]) delete rest[part];
  return rest;
};

export function openRegistry(store: Store, now: () => Date): Registry {
  function get(resource: Resource, namespace: string, name: string): KubeObject {
    const found = store.get(resource.storage, resource.namespaced ? namespace : '', name);
    if (found === undefined) throw status.notFound(resource, name);
    return found;
  }

  function checkNamespace(resource: Resource, namespace: string, name: string): void {
    if (!resource.namespaced) return;
    const home = store.get('/namespaces', '', namespace);
    if (home === undefined) throw status.notFound({ group: '', plural: 'namespaces', kind: 'Namespace' }, namespace);
    if (home.metadata.deletionTimestamp === undefined) return;
    const why = `unable to create new content in namespace ${namespace} because it is being terminated`;
    const error = status.forbidden(resource, name, why);
    if (error.details !== undefined) {
      error.details['causes'] = [
        { reason: 'NamespaceTerminating', message: `namespace ${namespace} is being terminated`, field: 'metadata.namespace' },
      ];
    }
    throw error;
  }

  function create(resource: Resource, namespace: string, body: Json, options: WriteOptions = {}): KubeObject {
    let object = decodeBody(body, resource, options);
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
      creationTimestamp: timestamp(now()),
    };
    delete object.metadata.deletionTimestamp;
    delete object.metadata.deletionGracePeriodSeconds;
    delete object.metadata.generation;
    checkNamespace(resource, namespace, given.name);
    if (resource.custom) {
      object.metadata.generation = 1;
      if (resource.statusSubresource) delete object['status'];
    }
    object = withDefaults(object, resource);
    check(object, resource);
    resource.prepareCreate?.(object);
    if (store.get(resource.storage, object.metadata.namespace ?? '', object.metadata.name) !== undefined) {
      throw status.alreadyExists(resource, object.metadata.name);
    }
    return options.dryRun === true ? object : store.put(resource.storage, object);
  }

  function checkIdentity(resource: Resource, object: KubeObject, old: KubeObject): void {
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
      const error = status.invalid({ ...resource, kind: resource.plural }, old.metadata.name, [cause]);
      throw error;
    }
  }

  function update(
    resource: Resource,
    namespace: string,
    name: string,
    change: (old: KubeObject) => Json,
    subresource = '',
    options: WriteOptions = {},
  ): KubeObject {
    const stored = get(resource, namespace, name);
    let object = decodeBody(change(stored), resource, options);
    checkIdentity(resource, object, stored);
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
    object = withDefaults(object, resource);
    check(object, resource, stored, subresource);
    resource.prepareUpdate?.(object, stored, subresource);
    if (resource.custom && subresource === '') {
      const skipped = resource.statusSubresource ? ['status'] : [];
      const changed = !isDeepStrictEqual(withoutMeta(object, ...skipped), withoutMeta(stored, ...skipped));
      if (changed) object.metadata = { ...object.metadata, generation: (stored.metadata.generation ?? 1) + 1 };
    }
    if (
      isDeepStrictEqual({ ...object, metadata: tidied(object.metadata) }, { ...stored, metadata: tidied(stored.metadata) }) &&
      !isFinished(object)
    )
      return stored;
    if (options.dryRun === true) return object;
    if (isFinished(object)) {
      store.remove(resource.storage, object);
      return object;
    }
    return store.put(resource.storage, object);
  }

  const remove = deleter(store, now, get);

  return { get, create, update, remove };
}
