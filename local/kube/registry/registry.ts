/** The verbs on stored objects with the API server's semantics. HTTP requests and the controllers use them. */
import { check, decodeBody, withDefaults, type WriteOptions } from './admission.ts';
import { deleter, isFinished, type DeleteOptions, type Deletion } from './deletion.ts';
import * as status from '../status.ts';
import type { Store } from '../storage/store.ts';
import type { Json, KubeObject, ManagedFields, Resource } from '../types.ts';
import { afterUpdate, applied, type Apply } from './managed-fields.ts';
import { checkIdentity, completeNew, countGeneration, isUnchanged, withManagedFields, withStoredParts } from './written.ts';

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
  /** Server-side apply: creates the object, or changes the fields of the configuration. */
  apply(
    resource: Resource,
    namespace: string,
    name: string,
    config: Json,
    by: Apply,
    options?: WriteOptions,
  ): { object: KubeObject; created: boolean };
  remove(resource: Resource, namespace: string, name: string, options?: DeleteOptions): Deletion;
}

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

  const create: Registry['create'] = (resource, namespace, body, options = {}) => put(resource, namespace, body, options);

  function put(resource: Resource, namespace: string, body: Json, options: WriteOptions, fields?: ManagedFields[]): KubeObject {
    let object = decodeBody(body, resource, options);
    completeNew(object, resource, namespace, now());
    checkNamespace(resource, namespace, object.metadata.name);
    object = withManagedFields(withDefaults(object, resource), fields);
    check(object, resource);
    resource.prepareCreate?.(object);
    if (store.get(resource.storage, object.metadata.namespace ?? '', object.metadata.name) !== undefined) {
      throw status.alreadyExists(resource, object.metadata.name);
    }
    return options.dryRun === true ? object : store.put(resource.storage, object);
  }

  const update: Registry['update'] = (resource, namespace, name, change, subresource = '', options = {}) => {
    const stored = get(resource, namespace, name);
    const fieldsOf = (object: KubeObject) => afterUpdate(stored, object, options.fieldManager);
    return replace(resource, stored, change(stored), fieldsOf, subresource, options);
  };

  function replace(
    resource: Resource,
    stored: KubeObject,
    body: Json,
    fieldsOf: (object: KubeObject) => ManagedFields[] | undefined,
    subresource: string,
    options: WriteOptions,
  ): KubeObject {
    let object = decodeBody(body, resource, options);
    checkIdentity(resource, object, stored);
    object = withDefaults(withStoredParts(object, stored, resource, subresource), resource);
    object = withManagedFields(object, fieldsOf(object));
    check(object, resource, stored, subresource);
    resource.prepareUpdate?.(object, stored, subresource);
    if (resource.custom && subresource === '') countGeneration(object, stored, resource);
    if (isUnchanged(object, stored) && !isFinished(object)) return stored;
    if (options.dryRun === true) return object;
    if (!isFinished(object)) return store.put(resource.storage, object);
    store.remove(resource.storage, object);
    return object;
  }

  const apply: Registry['apply'] = (resource, namespace, name, config, by, options = {}) => {
    const stored = store.get(resource.storage, resource.namespaced ? namespace : '', name) ?? null;
    const given = decodeBody(config, resource, options);
    if (given.metadata.name !== name)
      throw status.badRequest(`the name of the object (${given.metadata.name}) does not match the name on the URL (${name})`);
    const { uid } = given.metadata;
    if (stored === null && uid !== undefined) {
      const why = `uid mismatch: the provided object specified uid ${uid}, and no existing object was found`;
      throw status.conflict(resource, name, why);
    }
    const { object, fields } = applied(stored, given, by);
    if (stored === null) return { object: put(resource, namespace, object, options, fields), created: true };
    return { object: replace(resource, stored, object, () => fields, '', options), created: false };
  };

  return { get, create, update, apply, remove: deleter(store, now, get) };
}
