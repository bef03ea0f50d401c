/**
 * Records Kubernetes Events, which `kubectl describe` shows.
 *
 * Follows client-go's `tools/record` (events_cache.go, v0.36) and writes core/v1 Events, because `kubectl describe` prints
 * their counts and times: a repeated message increases the count of its Event; an object may cause a burst of 25 Events and
 * then one per five minutes. Differences: similar messages are not combined; repeats that are not sent yet are one request; at
 * most 250 Events wait per namespace; Events that the API server refuses are dropped. Events are best effort: losing one is not
 * an error, but each one is counted.
 */
import type { KubernetesObject } from '../../../core/protocol/custom-resources.ts';
import { BoundedMap } from '../../../platform/concurrency/bounded-map.ts';
import { createEventSender, MAX_KNOWN, type EventSenderOptions } from './event-sender.ts';

export interface Recorder {
  /** Records an Event. Never throws or waits. `reason` is one CamelCase word; `message` is truncated to 1,024 characters. */
  event(object: KubernetesObject, type: 'Normal' | 'Warning', reason: string, message: string): void;
  /** Resolves when every recorded Event was sent or dropped, or after `withinMs` (default 5,000). For a graceful stop. */
  flush(withinMs?: number): Promise<void>;
}

const MAX_MESSAGE = 1024;
const BURST = 25;
const REFILL_MS = 300_000;

export function createRecorder(options: EventSenderOptions): Recorder {
  const { logger, clock, onDropped } = options;
  const buckets = new BoundedMap<{ tokens: number; at: number }>({ max: MAX_KNOWN });
  const sender = createEventSender(options);

  /** Takes one token per Event from the object's bucket. */
  function allowed(object: string): boolean {
    const now = clock.monotonic();
    const bucket = buckets.get(object) ?? { tokens: BURST, at: now };
    const tokens = Math.min(BURST, bucket.tokens + (now - bucket.at) / REFILL_MS);
    buckets.set(object, { tokens: tokens < 1 ? tokens : tokens - 1, at: now });
    return tokens >= 1;
  }

  function record(object: KubernetesObject, type: string, reason: string, text: string) {
    const about = `${object.apiVersion} ${object.kind} ${object.metadata.namespace ?? ''}/${object.metadata.name} ${object.metadata.uid}`;
    if (!allowed(about)) {
      logger.debug({ object: object.metadata.name, reason }, 'event dropped: too many for this object');
      return onDropped('rate_limited');
    }
    const message = cut(text);
    const now = clock.now();
    sender.add(`${about} ${type} ${reason} ${message}`, { object, type, reason, message, times: 1, first: now, last: now });
  }

  return {
    event(object, type, reason, message) {
      try {
        record(object, type, reason, message);
      } catch (error) {
        logger.warn({ err: error, reason }, 'cannot record event');
      }
    },
    flush: (withinMs = 5_000) => sender.flush(withinMs),
  };
}

function cut(text: string): string {
  return text.length <= MAX_MESSAGE ? text : `${text.slice(0, MAX_MESSAGE - 1).toWellFormed()}…`;
}
