/**
 * Sends recorded Events to the API server. Events of different objects are sent concurrently, each with a time limit. A
 * namespace whose requests fail or hang waits by itself, so that its Events do not delay those of other namespaces.
 */
import type { CoreV1Event } from '@kubernetes/client-node';
import type { Logger } from '../../platform/logger.ts';
import type { KubernetesObject } from '../../core/protocol/custom-resources.ts';
import { KubernetesError, type KubernetesConnection, type ResourceType } from '../../platform/kubernetes/kubernetes.ts';
import type { ObjectOf } from '../../platform/kubernetes/models.ts';
import { sleep, timestamp, type Clock } from './clock.ts';
import { remember } from './remember.ts';

const EVENTS: ResourceType = { group: '', version: 'v1', plural: 'events' };

/** An Event that is not sent yet. */
export interface PendingEvent {
  object: KubernetesObject;
  type: string;
  reason: string;
  message: string;
  times: number;
  /** Milliseconds since the epoch. */
  first: number;
  last: number;
}

/**
 * Why an Event was not recorded. `refused`: by the API server. `unavailable`: all tries failed. `full`: too many Events wait.
 * `rate_limited`: its object has caused too many.
 */
export const DROP_REASONS = ['refused', 'unavailable', 'full', 'rate_limited'] as const;
export type DropReason = (typeof DROP_REASONS)[number];

export interface EventSender {
  /** Returns the Event of this identity if it waits. It may be changed until it is sent. */
  waiting(identity: string): PendingEvent | undefined;
  /** Sends an Event later. An identity names equal Events: one that was sent before is counted up. */
  add(identity: string, event: PendingEvent): void;
  /** Resolves when no Event waits or is being sent, or after `withinMs`. */
  flush(withinMs: number): Promise<void>;
}

export interface EventSenderOptions {
  connection: KubernetesConnection;
  component: string;
  instance: string;
  logger: Logger;
  clock: Clock;
  onDropped: (reason: DropReason) => void;
}

const MAX_SENDING = 8;
const MAX_SENDING_PER_NAMESPACE = 2;
const MAX_WAITING = 1000;
/** Less than `MAX_WAITING`, so that a namespace that cannot be written does not use all of it. */
const MAX_WAITING_PER_NAMESPACE = 250;
const TRIES = 12;
const RETRY_MS = 5_000;
const TIMEOUT_MS = 10_000;

/** An earlier Event with the same content. */
interface Known {
  namespace: string;
  name: string;
  count: number;
}

interface Lane {
  waiting: Map<string, { event: PendingEvent; tries: number }>;
  /** The objects whose Events are being sent. Events of one object are sent in order. */
  sending: Set<string>;
  /** No Event is sent before this time of the monotonic clock, because the last one failed. */
  pausedUntil: number;
  /** Whether dropping was logged since the lane was last not full. */
  fullLogged: boolean;
}

const namespaceOf = ({ object }: PendingEvent) => object.metadata.namespace ?? 'default';
const idOf = ({ object }: PendingEvent) => object.metadata.uid ?? object.metadata.name;
const time = (ms: number) => timestamp(new Date(ms));

export function createEventSender(options: EventSenderOptions): EventSender {
  const { logger, clock, onDropped } = options;
  const send = createSend(options);
  const lanes = new Map<string, Lane>();
  let waitingCount = 0;
  let sendingCount = 0;
  let idle = Promise.withResolvers<void>();

  function startable(lane: Lane): [string, { event: PendingEvent; tries: number }] | undefined {
    if (lane.sending.size >= MAX_SENDING_PER_NAMESPACE || lane.pausedUntil > clock.monotonic()) return undefined;
    return lane.waiting.entries().find(([, { event }]) => !lane.sending.has(idOf(event)));
  }

  function pump() {
    for (const [namespace, lane] of lanes) {
      for (let next = startable(lane); next !== undefined && sendingCount < MAX_SENDING; next = startable(lane))
        start(namespace, lane, ...next);
    }
    if (sendingCount === 0 && waitingCount === 0) idle.resolve();
  }

  function start(namespace: string, lane: Lane, identity: string, entry: { event: PendingEvent; tries: number }) {
    const id = idOf(entry.event);
    lane.waiting.delete(identity);
    lane.sending.add(id);
    waitingCount -= 1;
    sendingCount += 1;
    void deliver(lane, identity, entry).finally(() => {
      lane.sending.delete(id);
      sendingCount -= 1;
      // A namespace that was served goes last.
      lanes.delete(namespace);
      if (lane.waiting.size > 0 || lane.sending.size > 0 || lane.pausedUntil > clock.monotonic()) lanes.set(namespace, lane);
      pump();
    });
  }

  async function deliver(lane: Lane, identity: string, { event, tries }: { event: PendingEvent; tries: number }) {
    try {
      await withinLimit(clock, (signal) => send(identity, event, signal));
      lane.fullLogged = false;
    } catch (error) {
      const refused = error instanceof KubernetesError && error.code < 500 && error.code !== 429;
      if (refused || tries + 1 >= TRIES) {
        const fields = { err: error, namespace: namespaceOf(event), object: event.object.metadata.name, reason: event.reason };
        // A namespace that is being deleted accepts no new objects.
        const leaving = refused && (error.code === 404 || /being terminated/.test(error.message));
        logger[leaving ? 'debug' : 'warn'](fields, 'cannot record event');
        return onDropped(refused ? 'refused' : 'unavailable');
      }
      lane.pausedUntil = clock.monotonic() + RETRY_MS;
      clock.after(RETRY_MS, pump);
      requeue(lane, identity, event, tries + 1);
    }
  }

  /** Puts an Event first again, and adds the repeats that were recorded while it was being sent. */
  function requeue(lane: Lane, identity: string, event: PendingEvent, tries: number) {
    const repeat = lane.waiting.get(identity)?.event;
    if (repeat === undefined) waitingCount += 1;
    else Object.assign(event, { message: repeat.message, times: event.times + repeat.times, last: repeat.last });
    lane.waiting.delete(identity);
    lane.waiting = new Map([[identity, { event, tries }], ...lane.waiting]);
  }

  function laneOf(namespace: string): Lane {
    const lane = lanes.get(namespace) ?? { waiting: new Map(), sending: new Set(), pausedUntil: 0, fullLogged: false };
    lanes.set(namespace, lane);
    return lane;
  }

  return {
    waiting: (identity) =>
      lanes
        .values()
        .map((lane) => lane.waiting.get(identity)?.event)
        .find((event) => event !== undefined),
    add(identity, event) {
      const namespace = namespaceOf(event);
      const lane = laneOf(namespace);
      if (waitingCount >= MAX_WAITING || lane.waiting.size >= MAX_WAITING_PER_NAMESPACE) {
        if (!lane.fullLogged) logger.warn({ namespace, waiting: lane.waiting.size }, 'too many events wait, dropping events');
        lane.fullLogged = true;
        return onDropped('full');
      }
      if (waitingCount + sendingCount === 0) idle = Promise.withResolvers();
      lane.waiting.set(identity, { event, tries: 0 });
      waitingCount += 1;
      // Later, so that repeats recorded in the same turn are combined.
      queueMicrotask(pump);
    },
    async flush(withinMs) {
      if (waitingCount + sendingCount > 0) await Promise.race([idle.promise, sleep(clock, withinMs)]);
    },
  };
}

/** @throws if the work takes longer than the time limit; its signal is then aborted */
async function withinLimit(clock: Clock, work: (signal: AbortSignal) => Promise<void>): Promise<void> {
  const overdue = new AbortController();
  const limit = Promise.withResolvers<never>();
  const cancel = clock.after(TIMEOUT_MS, () => {
    const error = new Error(`the API server did not answer within ${TIMEOUT_MS / 1000} s`);
    overdue.abort(error);
    limit.reject(error);
  });
  try {
    await Promise.race([work(overdue.signal), limit.promise]);
  } finally {
    cancel();
  }
}

/** Returns a function that creates an Event, or counts up the one that was created for this identity. */
function createSend({ connection, component, instance }: EventSenderOptions) {
  const known = remember<Known>();
  let serial = 0;

  async function create(identity: string, event: PendingEvent, signal: AbortSignal) {
    const { apiVersion, kind, metadata } = event.object;
    const namespace = namespaceOf(event);
    const name = `${metadata.name.slice(0, 220)}.${event.first.toString(16)}${(serial++ % 0xffff).toString(16).padStart(4, '0')}`;
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
      firstTimestamp: time(event.first),
      lastTimestamp: time(event.last),
      source: { component },
      reportingComponent: component,
      reportingInstance: instance,
    };
    await connection.request('POST', connection.path(EVENTS, namespace), { body, signal });
    known.set(identity, { namespace, name, count: event.times });
  }

  return async (identity: string, event: PendingEvent, signal: AbortSignal): Promise<void> => {
    const before = known.peek(identity);
    if (!before) return create(identity, event, signal);
    const count = before.count + event.times;
    try {
      await connection.request('PATCH', connection.path(EVENTS, before.namespace, before.name), {
        contentType: 'application/merge-patch+json',
        body: { count, message: event.message, lastTimestamp: time(event.last) },
        signal,
      });
      known.set(identity, { ...before, count });
    } catch (error) {
      // Events live for an hour; the first of its kind may be gone.
      if (!(error instanceof KubernetesError && error.code === 404)) throw error;
      await create(identity, event, signal);
    }
  };
}
