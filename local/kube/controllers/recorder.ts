/** Records the events of the controllers and the kubelet. */
import { timestamp } from '../../../platform/clock.ts';
import type { Catalogue } from '../resources/builtins.ts';
import type { Registry } from '../registry/registry.ts';
import type { KubeObject } from '../types.ts';

export interface Recorder {
  record(about: KubeObject, type: 'Normal' | 'Warning', reason: string, message: string, fieldPath?: string): void;
}

/** @param component the source of the events, as in `kubectl describe` */
export function openRecorder(objects: Registry, catalogue: Catalogue, now: () => Date, component: string, host?: string): Recorder {
  let sequence = 0;
  const events = catalogue.named('', 'events');
  return {
    record(about, type, reason, message, fieldPath) {
      const { metadata, kind, apiVersion } = about;
      const { name, uid, resourceVersion, namespace = 'default' } = metadata;
      const at = timestamp(now());
      sequence += 1;
      // Nanoseconds, as in Kubernetes: the operator names its Events of a scan, and the Job has the scan's name, by milliseconds.
      const nanoseconds = BigInt(now().getTime()) * 1_000_000n + BigInt(sequence % 1_000_000);
      try {
        objects.create(events, namespace, {
          metadata: { name: `${name}.${nanoseconds.toString(16)}` },
          involvedObject: { kind, namespace, name, uid, apiVersion, resourceVersion, fieldPath },
          reason,
          message,
          source: { component, host },
          firstTimestamp: at,
          lastTimestamp: at,
          count: 1,
          type,
          reportingComponent: component,
          reportingInstance: host ?? '',
        });
      } catch {
        // The namespace is being deleted, and its events with it.
      }
    },
  };
}
