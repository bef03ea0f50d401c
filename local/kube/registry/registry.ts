/** The verbs on stored objects with the API server's semantics. HTTP requests and the controllers use them. */
import * as status from '../status.ts';
import type { Store } from '../store.ts';
import type { Json, KubeObject, ManagedFields, Resource } from '../types.ts';
import { timestamp } from '../../../platform/clock.ts';
import { check, decodeBody, withDefaults, type WriteOptions } from './admission.ts';
import { afterUpdate, applied, type Apply } from './managed-fields.ts';
import { checkIdentity, completeNew, countGeneration, isUnchanged, withManagedFields, withStoredParts } from './written.ts';

/**
 * Deletion: at once, or after the grace period and the finalizers; and the propagation to dependents. The supported fields of
 * metav1.DeleteOptions.
 */
export interface DeleteOptions {
  gracePeriodSeconds?: number;
  propagationPolicy?: string;
  orphanDependents?: boolean;
  preconditions?: { uid?: string; resourceVersion?: string };
  dryRun?: boolean;
}

/** The result of a DELETE: the object is removed, or only marked for deletion. */
interface Deletion {
  object: KubeObject;
  gone: boolean;
}

/** Marked for deletion, without finalizers and grace period. */
const isFinished = ({ metadata }: KubeObject): boolean =>
  metadata.deletionTimestamp !== undefined && (metadata.finalizers?.length ?? 0) === 0 && (metadata.deletionGracePeriodSeconds ?? 0) === 0;

function checkPreconditions(
  resource: Resource,
  object: KubeObject,
  { uid, resourceVersion }: NonNullable<DeleteOptions['preconditions']>,
): void {
  const { metadata } = object;
  if (uid !== undefined && uid !== metadata.uid) {
    const why = `the UID in the precondition (${uid}) does not match the UID in record (${metadata.uid}). The object might have been deleted and then recreated`;
    throw status.preconditionFailed(resource, metadata.name, why);
  }
  if (resourceVersion !== undefined && resourceVersion !== metadata.resourceVersion) {
    const why = `the ResourceVersion in the precondition (${resourceVersion}) does not match the ResourceVersion in record (${metadata.resourceVersion}). The object might have been modified`;
    throw status.preconditionFailed(resource, metadata.name, why);
  }
}

/** Creates the delete verb. @param get returns an object or throws */
function deleter(
  store: Store,
  now: () => Date,
  get: (resource: Resource, namespace: string, name: string) => KubeObject,
): (resource: Resource, namespace: string, name: string, options?: DeleteOptions) => Deletion {
  return (resource, namespace, name, options = {}) => {
    checkPropagation(resource, options);
    const stored = get(resource, namespace, name);
    checkPreconditions(resource, stored, options.preconditions ?? {});
    const grace = graceOf(resource, stored, options);
    const finalizers = new Set(stored.metadata.finalizers);
    if (options.propagationPolicy === 'Foreground') finalizers.add('foregroundDeletion');
    if (resource.plural === 'namespaces' && resource.group === '') finalizers.add(NAMESPACE_FINALIZER);
    const waits = finalizers.size > 0 || grace > 0;
    if (!waits) {
      if (options.dryRun !== true) store.remove(resource.storage, stored);
      return { object: stored, gone: true };
    }
    const first = stored.metadata.deletionTimestamp === undefined;
    const shorter = !first && grace < (stored.metadata.deletionGracePeriodSeconds ?? 0);
    const held = [...finalizers].filter((finalizer) => finalizer !== NAMESPACE_FINALIZER);
    if (!first && !shorter && held.length === (stored.metadata.finalizers?.length ?? 0)) return { object: stored, gone: false };
    const object: KubeObject = {
      ...stored,
      metadata: {
        ...stored.metadata,
        ...(held.length === 0 ? {} : { finalizers: held }),
        ...(first || shorter
          ? { deletionTimestamp: timestamp(new Date(now().getTime() + grace * 1000)), deletionGracePeriodSeconds: grace }
          : {}),
        ...(first && stored.metadata.generation !== undefined ? { generation: stored.metadata.generation + 1 } : {}),
      },
    };
    if (finalizers.has(NAMESPACE_FINALIZER)) {
      delete object.metadata.deletionGracePeriodSeconds;
      object['status'] = { ...(stored['status'] as object), phase: 'Terminating' };
    }
    if (options.dryRun === true) return { object, gone: false };
    return { object: store.put(resource.storage, object), gone: false };
  };
}

/** A namespace waits until it is empty by `spec.finalizers`, not by its metadata. */
const NAMESPACE_FINALIZER = 'kubernetes';

/** Only a pod that is scheduled and has not ended has a grace period. */
function graceOf(resource: Resource, object: KubeObject, options: DeleteOptions): number {
  if (resource.storage !== '/pods') return 0;
  const spec = object['spec'] as { nodeName?: string; terminationGracePeriodSeconds?: number };
  const { phase } = object['status'] as { phase?: string };
  if (spec.nodeName === undefined || phase === 'Succeeded' || phase === 'Failed') return 0;
  return Math.max(0, options.gracePeriodSeconds ?? spec.terminationGracePeriodSeconds ?? 30);
}

/** Pods would outlive a Job that is deleted without a policy. */
function checkPropagation(resource: Resource, { propagationPolicy, orphanDependents }: DeleteOptions): void {
  const orphans = resource.storage === 'batch/jobs' ? !propagationPolicy : orphanDependents === true;
  if (['Foreground', 'Background', '', undefined].includes(propagationPolicy) && !orphans) return;
  throw status.invalid({ group: 'meta.k8s.io', plural: 'deleteoptions', kind: 'DeleteOptions' }, '', [
    {
      reason: 'FieldValueNotSupported',
      message: `Unsupported value: ${JSON.stringify(orphans ? 'Orphan' : propagationPolicy)}: supported values: "Foreground", "Background"`,
      field: 'propagationPolicy',
    },
  ]);
}

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
