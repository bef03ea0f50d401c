/** Deletion: at once, or after the grace period and the finalizers; and the propagation to dependents. */
import { timestamp } from '../../../platform/clock.ts';
import * as status from '../status.ts';
import type { Store } from '../storage/store.ts';
import type { KubeObject, Resource } from '../types.ts';

/** The supported fields of metav1.DeleteOptions. */
export interface DeleteOptions {
  gracePeriodSeconds?: number;
  propagationPolicy?: string;
  orphanDependents?: boolean;
  preconditions?: { uid?: string; resourceVersion?: string };
  dryRun?: boolean;
}

/** The result of a DELETE: the object is removed, or only marked for deletion. */
export interface Deletion {
  object: KubeObject;
  gone: boolean;
}

/** Marked for deletion, without finalizers and grace period. */
export const isFinished = ({ metadata }: KubeObject): boolean =>
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
export function deleter(
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
