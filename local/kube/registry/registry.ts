/** The verbs on stored objects with the API server's semantics. HTTP requests and the controllers use them. */
import { check, decodeBody, withDefaults, type WriteOptions } from './admission.ts';
import { deleter, isFinished, type DeleteOptions, type Deletion } from './deletion.ts';
import * as status from '../status.ts';
import type { Store } from '../storage/store.ts';
import type { Json, KubeObject, Resource } from '../types.ts';
import { checkIdentity, completeNew, countGeneration, isUnchanged, withStoredParts } from './written.ts';

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
    completeNew(object, resource, namespace, now());
    checkNamespace(resource, namespace, object.metadata.name);
    object = withDefaults(object, resource);
    check(object, resource);
    resource.prepareCreate?.(object);
    if (store.get(resource.storage, object.metadata.namespace ?? '', object.metadata.name) !== undefined) {
      throw status.alreadyExists(resource, object.metadata.name);
    }
    return options.dryRun === true ? object : store.put(resource.storage, object);
  }

  const update: Registry['update'] = (resource, namespace, name, change, subresource = '', options = {}) => {
    const stored = get(resource, namespace, name);
    let object = decodeBody(change(stored), resource, options);
    checkIdentity(resource, object, stored);
    object = withDefaults(withStoredParts(object, stored, resource, subresource), resource);
    check(object, resource, stored, subresource);
    resource.prepareUpdate?.(object, stored, subresource);
    if (resource.custom && subresource === '') countGeneration(object, stored, resource);
    if (isUnchanged(object, stored) && !isFinished(object)) return stored;
    if (options.dryRun === true) return object;
    if (!isFinished(object)) return store.put(resource.storage, object);
    store.remove(resource.storage, object);
    return object;
  };

  return { get, create, update, remove: deleter(store, now, get) };
}
