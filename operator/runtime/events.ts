/**
 * Records Kubernetes Events, which `kubectl describe` shows.
 *
 * Follows client-go's `tools/record` (events_cache.go, v0.36) and writes core/v1 Events, because `kubectl describe` prints
 * their counts and times. A repeated message increases the count of its Event. An object may cause a burst of 25 Events and
 * then one per five minutes. Events are best effort: losing one is not an error, but each one is counted. Differences:
 * - similar messages are not combined, and repeats that are not sent yet are one request
 * - at most 250 Events wait per namespace, and Events that the API server refuses are dropped
 */
import type { CoreV1Event } from '@kubernetes/client-node';
import type { KubernetesObject } from '../../core/protocol/custom-resources.ts';
import { BoundedMap } from '../../platform/concurrency/bounded-map.ts';
import { createSemaphore } from '../../platform/concurrency/semaphore.ts';
import type { Logger } from '../../platform/logger.ts';
import {
  hasCode,
  type KubernetesConnection,
  KubernetesError,
  type ResourceType,
  type ObjectOf,
} from '../../platform/kubernetes/kubernetes.ts';
import { type Clock, sleep, timestamp } from '../../platform/clock.ts';
import { cutMessage } from './conditions.ts';

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
    const message = cutMessage(text, MAX_MESSAGE);
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

export const EVENTS: ResourceType = { group: '', version: 'v1', plural: 'events' };

interface PendingEvent {
  object: KubernetesObject;
  type: string;
  reason: string;
  message: string;
  times: number;
  first: Date;
  last: Date;
}

/**
 * Why an Event was not recorded. `refused`: by the API server. `unavailable`: all tries failed. `full`: too many Events wait.
 * `rate_limited`: its object has caused too many.
 */
export const DROP_REASONS = ['refused', 'unavailable', 'full', 'rate_limited'] as const;
export type DropReason = (typeof DROP_REASONS)[number];

interface EventSenderOptions {
  connection: KubernetesConnection;
  component: string;
  instance: string;
  logger: Logger;
  clock: Clock;
  onDropped: (reason: DropReason) => void;
}

const SENDING = { held: { total: 8, perKey: 1 } };
/** The number of Events that wait at most in each namespace. */
const MAX_WAITING = 250;
/** The number of sent Events and of objects that are remembered, each. As in client-go. */
const MAX_KNOWN = 4096;
/** As in client-go. */
const TRIES = 12;
const RETRY_MS = 5_000;
const TIMEOUT_MS = 10_000;
/** The holders of permits have a time limit, so waits for permits need no other one. */
const NEVER = new AbortController().signal;

interface Known {
  namespace: string;
  name: string;
  count: number;
}

const namespaceOf = ({ object }: PendingEvent) => object.metadata.namespace ?? 'default';

/**
 * Sends recorded Events to the API server: one after the other in each namespace, so that a namespace whose requests fail or
 * hang does not delay the Events of others.
 */
function createEventSender(options: EventSenderOptions) {
  const { logger, clock, onDropped } = options;
  const send = createSend(options);
  const permits = createSemaphore(SENDING);
  const queues = new Map<string, { waiting: Map<string, PendingEvent>; full: boolean; drained: Promise<void> }>();

  async function drain(namespace: string, waiting: Map<string, PendingEvent>): Promise<void> {
    for (const [identity, event] of waiting) {
      // Before the request, so that a repeat that arrives during it is counted.
      waiting.delete(identity);
      await deliver(namespace, identity, event);
    }
    queues.delete(namespace);
  }

  async function deliver(namespace: string, identity: string, event: PendingEvent): Promise<void> {
    for (let tries = 1; ; tries += 1) {
      const permit = await permits.acquire(namespace, NEVER);
      try {
        return await send(identity, event);
      } catch (error) {
        const refused = error instanceof KubernetesError && error.code < 500 && error.code !== 429;
        if (refused || tries === TRIES) return drop(event, error, refused);
      } finally {
        permit.release();
      }
      await sleep(clock, RETRY_MS);
    }
  }

  function drop(event: PendingEvent, error: unknown, refused: boolean): void {
    const fields = { err: error, namespace: namespaceOf(event), object: event.object.metadata.name, reason: event.reason };
    // A namespace that is being deleted accepts no new objects.
    const leaving = refused && ((error as KubernetesError).code === 404 || /being terminated/.test((error as Error).message));
    logger[leaving ? 'debug' : 'warn'](fields, 'cannot record event');
    onDropped(refused ? 'refused' : 'unavailable');
  }

  function queueOf(namespace: string) {
    const known = queues.get(namespace);
    if (known !== undefined) return known;
    const waiting = new Map<string, PendingEvent>();
    // The first Event is added before it starts.
    const queue = { waiting, full: false, drained: Promise.resolve().then(() => drain(namespace, waiting)) };
    queues.set(namespace, queue);
    return queue;
  }

  return {
    /** Sends an Event later. An identity names equal Events, which are counted as one. */
    add(identity: string, event: PendingEvent): void {
      const namespace = namespaceOf(event);
      const queue = queueOf(namespace);
      const unsent = queue.waiting.get(identity);
      if (unsent !== undefined) {
        Object.assign(unsent, { message: event.message, times: unsent.times + event.times, last: event.last });
      } else if (queue.waiting.size < MAX_WAITING) queue.waiting.set(identity, event);
      else {
        if (!queue.full) logger.warn({ namespace, waiting: queue.waiting.size }, 'too many events wait, dropping events');
        queue.full = true;
        onDropped('full');
      }
    },
    async flush(withinMs: number): Promise<void> {
      const sent = Promise.all([...queues.values()].map(({ drained }) => drained));
      if (queues.size > 0) await Promise.race([sent, sleep(clock, withinMs)]);
    },
  };
}

/** Returns a function that creates an Event, or counts up the one that was created for this identity. */
function createSend({ connection, component, instance }: EventSenderOptions) {
  const known = new BoundedMap<Known>({ max: MAX_KNOWN });
  let serial = 0;

  async function create(identity: string, event: PendingEvent) {
    const { apiVersion, kind, metadata } = event.object;
    const namespace = namespaceOf(event);
    const name = `${metadata.name.slice(0, 220)}.${event.first.getTime().toString(16)}${(serial++ % 0xffff).toString(16).padStart(4, '0')}`;
    const { uid, resourceVersion } = metadata;
    const body: ObjectOf<CoreV1Event> = {
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { name, namespace },
      involvedObject: { apiVersion, kind, namespace: metadata.namespace, name: metadata.name, uid, resourceVersion },
      type: event.type,
      reason: event.reason,
      message: event.message,
      count: event.times,
      firstTimestamp: timestamp(event.first),
      lastTimestamp: timestamp(event.last),
      source: { component },
      reportingComponent: component,
      reportingInstance: instance,
    };
    await connection.request('POST', connection.path(EVENTS, namespace), { body, timeoutMs: TIMEOUT_MS });
    known.set(identity, { namespace, name, count: event.times });
  }

  return async (identity: string, event: PendingEvent): Promise<void> => {
    const before = known.get(identity);
    if (!before) return create(identity, event);
    const count = before.count + event.times;
    try {
      await connection.request('PATCH', connection.path(EVENTS, before.namespace, before.name), {
        contentType: 'application/merge-patch+json',
        body: { count, message: event.message, lastTimestamp: timestamp(event.last) },
        timeoutMs: TIMEOUT_MS,
      });
      known.set(identity, { ...before, count });
    } catch (error) {
      // Events live for an hour; the first of its kind may be gone.
      if (!hasCode(error, 404)) throw error;
      await create(identity, event);
    }
  };
}
