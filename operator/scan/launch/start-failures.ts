/** Why the pods of Jobs do not exist or do not start: Events of the Job controller and the kubelet, from one watch per reason. */
import type { CoreV1Event } from '@kubernetes/client-node';
import type { KubernetesObject } from '../../../core/protocol/custom-resources.ts';
import type { Wire } from '../../../platform/kubernetes/kubernetes.ts';
import type { Manager } from '../../runtime/controller/manager.ts';
import type { Cache } from '../../runtime/cache/cache.ts';
import { EVENTS } from '../kube-types.ts';

type WholeEvent = KubernetesObject & Pick<Wire<CoreV1Event>, 'involvedObject' | 'message' | 'lastTimestamp' | 'eventTime'>;

/** core/v1 Event, reduced to the fields that the cache holds. */
export interface StartFailure extends KubernetesObject {
  involvedObject: { name?: string; uid?: string };
  message?: string;
  /** RFC 3339. */
  at: string;
}

/** The reasons that are watched, and the kind of their objects. A field selector has no "or". */
const REASONS = { FailedCreate: 'Job', FailedCreatePodSandBox: 'Pod', FailedMount: 'Pod' } as const;

/** Jobs and pods of scans have names with this prefix. It keeps the Events of others out of the caches. */
const SCAN_NAME = /^scan-/;

/** A cache for each reason, indexed by the uid of the object. Without permission to watch, only the messages of scans are less precise. */
export function watchStartFailures(manager: Pick<Manager, 'watch'>, namespaces: readonly string[]): Cache<StartFailure>[] {
  return Object.entries(REASONS).map(([reason, kind]) =>
    manager.watch<StartFailure>({
      resource: EVENTS,
      namespaces,
      fieldSelector: `reason=${reason},involvedObject.kind=${kind}`,
      optional: true,
      accepts: ({ involvedObject }) => SCAN_NAME.test(involvedObject?.name ?? ''),
      keep: (event) => essentialFailure(event as KubernetesObject as WholeEvent),
      indexes: { object: ({ involvedObject }) => (involvedObject.uid === undefined ? [] : [involvedObject.uid]) },
    }),
  );
}

function essentialFailure({ apiVersion, kind, metadata, involvedObject, message, lastTimestamp, eventTime }: WholeEvent): StartFailure {
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

/** Returns the message of the latest Event of a Job or pod, or null. */
export function startFailureOf(failures: readonly Pick<Cache<StartFailure>, 'byIndex'>[], object: KubernetesObject): string | null {
  return (
    failures
      .flatMap((cache) => cache.byIndex('object', object.metadata.uid!))
      .toSorted((a, b) => a.at.localeCompare(b.at))
      .at(-1)?.message ?? null
  );
}
