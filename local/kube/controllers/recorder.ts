/** Records the events of the controllers and the kubelet. Repeated events increase their count. */
import { timestamp } from '../../../platform/clock.ts';
import type { Catalogue } from '../resources/catalogue.ts';
import type { Registry } from '../registry/registry.ts';
import type { Json, KubeObject } from '../types.ts';

export interface Recorder {
  record(about: KubeObject, type: 'Normal' | 'Warning', reason: string, message: string, fieldPath?: string): void;
}

/** Maximum number of events to remember for counting; the oldest are dropped first. */
const REMEMBERED = 1000;

/** @param component the source of the events, as in `kubectl describe` */
export function openRecorder(objects: Registry, catalogue: Catalogue, now: () => Date, component: string, host?: string): Recorder {
  const names = new Map<string, string>();
  let sequence = 0;
  const events = catalogue.named('', 'events');
  return {
    record(about, type, reason, message, fieldPath) {
      const { metadata } = about;
      const namespace = metadata.namespace ?? 'default';
      const at = timestamp(now());
      const key = `${metadata.uid}/${reason}/${message}`;
      const known = names.get(key);
      try {
        if (known !== undefined) {
          objects.update(
            events,
            namespace,
            known,
            (old) => ({ ...old, count: Number(old['count']) + 1, lastTimestamp: at }) as unknown as Json,
          );
          return;
        }
      } catch {
        // The event was deleted: create a new one.
      }
      sequence += 1;
      // Nanoseconds, as in Kubernetes: the operator names its Events of a scan, and the Job has the scan's name, by milliseconds.
      const name = `${metadata.name}.${(BigInt(now().getTime()) * 1_000_000n + BigInt(sequence % 1_000_000)).toString(16)}`;
      try {
        objects.create(events, namespace, {
          metadata: { name },
          involvedObject: {
            kind: about.kind,
            namespace,
            name: metadata.name,
            uid: metadata.uid,
            apiVersion: about.apiVersion,
            resourceVersion: metadata.resourceVersion,
            ...(fieldPath === undefined ? {} : { fieldPath }),
          },
          reason,
          message,
          source: { component, ...(host === undefined ? {} : { host }) },
          firstTimestamp: at,
          lastTimestamp: at,
          count: 1,
          type,
          reportingComponent: component,
          reportingInstance: host ?? '',
        });
      } catch {
        return; // The namespace is being deleted, and its events with it.
      }
      names.set(key, name);
      const oldest = names.keys().next().value;
      if (names.size > REMEMBERED && oldest !== undefined) names.delete(oldest);
    },
  };
}
