/** Why Jobs have no pod: the Job controller's FailedCreate Events, from one watch per namespace. */
import type { CoreV1Event } from '@kubernetes/client-node';
import type { KubernetesObject } from '../../../core/protocol/custom-resources.ts';
import type { Wire } from '../../../platform/kubernetes/models.ts';
import type { Manager } from '../../runtime/controller/manager.ts';
import type { Watched } from '../../runtime/cache/multi-namespace-cache.ts';
import { EVENTS, type Job } from '../kube-types.ts';

type WholeEvent = KubernetesObject & Pick<Wire<CoreV1Event>, 'involvedObject' | 'message' | 'lastTimestamp' | 'eventTime'>;

/** core/v1 Event, reduced to the fields that the cache holds. */
export interface CreationFailure extends KubernetesObject {
  involvedObject: { name?: string; uid?: string };
  message?: string;
  /** RFC 3339. */
  at: string;
}

/** Jobs of scans have names with this prefix. It keeps the Events of other Jobs out of the cache. */
const JOB_NAME = /^scan-/;

/** Watches the Events, indexed by the uid of their Job. Without permission to watch, only the messages of scans are less precise. */
export function watchCreationFailures(manager: Pick<Manager, 'watch'>, namespaces: readonly string[]): Watched<CreationFailure> {
  return manager.watch<CreationFailure>({
    resource: EVENTS,
    namespaces,
    fieldSelector: 'reason=FailedCreate,involvedObject.kind=Job',
    optional: true,
    accepts: ({ involvedObject }) => JOB_NAME.test(involvedObject?.name ?? ''),
    keep: (event) => essentialFailure(event as KubernetesObject as WholeEvent),
    indexes: { job: ({ involvedObject }) => (involvedObject.uid === undefined ? [] : [involvedObject.uid]) },
  });
}

function essentialFailure({ apiVersion, kind, metadata, involvedObject, message, lastTimestamp, eventTime }: WholeEvent): CreationFailure {
  const { name, namespace, uid, resourceVersion } = metadata;
  return {
    apiVersion,
    kind,
    metadata: { name, namespace, uid, resourceVersion },
    involvedObject: { name: involvedObject?.name, uid: involvedObject?.uid },
    message,
    at: lastTimestamp ?? eventTime ?? '',
  };
}

/** Returns the message of the latest FailedCreate Event of a Job, or null. */
export function creationFailureOf(failures: Pick<Watched<CreationFailure>, 'byIndex'>, job: Job): string | null {
  return (
    failures
      .byIndex('job', job.metadata.uid!)
      .toSorted((a, b) => a.at.localeCompare(b.at))
      .at(-1)?.message ?? null
  );
}
