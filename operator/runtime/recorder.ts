/**
 * Records Kubernetes Events, which `kubectl describe` shows.
 *
 * Follows client-go's `tools/record` (events_cache.go, v0.36) and writes core/v1 Events, because `kubectl describe` prints
 * their counts and times: a repeated message increases the count of its Event; more than ten different messages of one
 * reason within ten minutes are combined into one Event; an object may cause a burst of 25 Events and then one per five
 * minutes. Differences: repeats that are not sent yet are combined into one request; at most 1,000 Events wait; Events that
 * the API server refuses are dropped. Events are best effort: losing one is not an error.
 */
import type { CoreV1Event } from '@kubernetes/client-node';
import type { Logger } from '../../platform/logger.ts';
import type { KubernetesObject } from '../../core/protocol/custom-resources.ts';
import { KubernetesError, type KubernetesConnection, type ResourceType } from '../../platform/kubernetes/kubernetes.ts';
import type { ObjectOf } from '../../platform/kubernetes/models.ts';
import { sleep, systemClock, timestamp, type Clock } from './clock.ts';

const EVENTS: ResourceType = { group: '', version: 'v1', plural: 'events' };

export interface Recorder {
  /** Records an Event. Never throws or waits. `reason` is one CamelCase word; `message` is truncated to 1,024 characters. */
  event(object: KubernetesObject, type: 'Normal' | 'Warning', reason: string, message: string): void;
  /** Resolves when every recorded Event was sent or dropped, or after `withinMs` (default 5,000). For a graceful stop. */
  flush(withinMs?: number): Promise<void>;
}

export interface RecorderOptions {
  connection: KubernetesConnection;
  /** The Event's source: `curbcut-operator`. */
  component: string;
  /** The replica, usually the pod's name. Default: the component. */
  instance?: string;
  logger: Logger;
  clock?: Clock;
}

const MAX_WAITING = 1000;
const MAX_REMEMBERED = 4096;
const MAX_MESSAGE = 1024;
const COMBINE_AFTER = 10;
const COMBINE_WITHIN_MS = 600_000;
const BURST = 25;
const REFILL_MS = 300_000;
const TRIES = 12;
const RETRY_MS = 5_000;

/** An earlier Event with the same content. */
interface Known {
  namespace: string;
  name: string;
  count: number;
}

interface Pending {
  object: KubernetesObject;
  type: string;
  reason: string;
  message: string;
  times: number;
  first: number;
  last: number;
}

export function createRecorder(options: RecorderOptions): Recorder {
  const { connection, component, instance = component, logger, clock = systemClock } = options;
  const similar = remember<{ since: number; messages: Set<string> }>();
  const buckets = remember<{ tokens: number; at: number }>();
  const known = remember<Known>();
  /** Events that are not sent yet, by content, in order. */
  const waiting = new Map<string, Pending>();
  let sending: Promise<void> | null = null;
  let serial = 0;

  /** Takes one token per Event from the object's bucket. */
  function allowed(object: string): boolean {
    const now = clock.monotonic();
    const bucket = buckets.get(object, () => ({ tokens: BURST, at: now }));
    bucket.tokens = Math.min(BURST, bucket.tokens + (now - bucket.at) / REFILL_MS);
    bucket.at = now;
    if (bucket.tokens < 1) return false;
    bucket.tokens -= 1;
    return true;
  }

  /** Whether this group had so many different messages that they are combined into one Event. */
  function combines(group: string, message: string): boolean {
    const now = clock.monotonic();
    const seen = similar.get(group, () => ({ since: now, messages: new Set() }));
    if (now - seen.since > COMBINE_WITHIN_MS) [seen.since, seen.messages] = [now, new Set()];
    if (seen.messages.size <= COMBINE_AFTER) seen.messages.add(message);
    return seen.messages.size > COMBINE_AFTER;
  }

  async function create(identity: string, pending: Pending) {
    const { apiVersion, kind, metadata } = pending.object;
    const namespace = metadata.namespace ?? 'default';
    const name = `${metadata.name.slice(0, 220)}.${pending.first.toString(16)}${(serial++ % 0xffff).toString(16).padStart(4, '0')}`;
    const { uid, resourceVersion } = metadata;
    const body: ObjectOf<CoreV1Event> = {
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { name, namespace },
      involvedObject: { apiVersion, kind, namespace: metadata.namespace, name: metadata.name, uid, resourceVersion },
      type: pending.type,
      reason: pending.reason,
      message: pending.message,
      count: pending.times,
      firstTimestamp: time(pending.first),
      lastTimestamp: time(pending.last),
      source: { component },
      reportingComponent: component,
      reportingInstance: instance,
    };
    await connection.request('POST', connection.path(EVENTS, namespace), { body });
    known.set(identity, { namespace, name, count: pending.times });
  }

  async function send(identity: string, pending: Pending) {
    const before = known.peek(identity);
    if (!before) return create(identity, pending);
    const count = before.count + pending.times;
    try {
      await connection.request('PATCH', connection.path(EVENTS, before.namespace, before.name), {
        contentType: 'application/merge-patch+json',
        body: { count, message: pending.message, lastTimestamp: time(pending.last) },
      });
      known.set(identity, { ...before, count });
    } catch (error) {
      // Events live for an hour; the first of its kind may be gone.
      if (!(error instanceof KubernetesError && error.code === 404)) throw error;
      await create(identity, pending);
    }
  }

  async function deliver(identity: string, pending: Pending) {
    for (let tries = 1; ; tries++) {
      try {
        return await send(identity, pending);
      } catch (error) {
        const refused = error instanceof KubernetesError && error.code < 500 && error.code !== 429;
        const fields = { err: error, object: pending.object.metadata.name, reason: pending.reason };
        if (refused || tries >= TRIES) return logger.warn(fields, 'cannot record event');
        await sleep(clock, RETRY_MS);
      }
    }
  }

  async function drain() {
    for (const [identity, pending] of waiting) {
      waiting.delete(identity);
      await deliver(identity, pending);
    }
    sending = null;
  }

  function record(object: KubernetesObject, type: string, reason: string, text: string) {
    const about = `${object.apiVersion} ${object.kind} ${object.metadata.namespace ?? ''}/${object.metadata.name} ${object.metadata.uid}`;
    if (!allowed(about)) return logger.debug({ object: object.metadata.name, reason }, 'event dropped: too many for this object');
    const group = `${about} ${type} ${reason}`;
    const combined = combines(group, text);
    const message = cut(combined ? `(combined from similar events): ${text}` : text);
    const identity = combined ? `${group} combined` : `${group} ${message}`;
    const now = clock.now();
    const unsent = waiting.get(identity);
    if (unsent) Object.assign(unsent, { message, times: unsent.times + 1, last: now });
    else if (waiting.size < MAX_WAITING) waiting.set(identity, { object, type, reason, message, times: 1, first: now, last: now });
    sending ??= Promise.resolve().then(drain);
  }

  return {
    event(object, type, reason, message) {
      try {
        record(object, type, reason, message);
      } catch (error) {
        logger.warn({ err: error, reason }, 'cannot record event');
      }
    },
    async flush(withinMs = 5_000) {
      if (sending) await Promise.race([sending, sleep(clock, withinMs)]);
    },
  };
}

const time = (ms: number) => timestamp(new Date(ms));

function cut(text: string): string {
  return text.length <= MAX_MESSAGE ? text : `${text.slice(0, MAX_MESSAGE - 1).toWellFormed()}…`;
}

/** A least-recently-used map. */
function remember<V>() {
  const map = new Map<string, V>();
  const set = (key: string, value: V) => {
    map.delete(key);
    map.set(key, value);
    if (map.size > MAX_REMEMBERED) map.delete(map.keys().next().value!);
    return value;
  };
  return {
    set,
    peek: (key: string) => map.get(key),
    get: (key: string, make: () => V) => set(key, map.get(key) ?? make()),
  };
}
