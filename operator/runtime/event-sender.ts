/**
 * Sends recorded Events to the API server. Events of different objects are sent concurrently, each with a time limit. A
 * namespace whose requests fail or hang waits by itself, so that its Events do not delay those of other namespaces.
 */
import type { CoreV1Event } from '@kubernetes/client-node';
import { createSemaphore, type Permit } from '../../platform/concurrency/semaphore.ts';
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

const SENDING = { held: { total: 8, perKey: 2 } };
const MAX_WAITING = 1000;
/** Less than `MAX_WAITING`, so that a namespace that cannot be written does not use all of it. */
const MAX_WAITING_PER_NAMESPACE = 250;
const TRIES = 12;
const RETRY_MS = 5_000;
const TIMEOUT_MS = 10_000;
/** The holders of permits have a time limit, so waits for permits need no other one. */
const NEVER = new AbortController().signal;

/** An earlier Event with the same content. */
interface Known {
  namespace: string;
  name: string;
  count: number;
}

const namespaceOf = ({ object }: PendingEvent) => object.metadata.namespace ?? 'default';
const idOf = ({ object }: PendingEvent) => object.metadata.uid ?? object.metadata.name;
const time = (ms: number) => timestamp(new Date(ms));

export function createEventSender(options: EventSenderOptions): EventSender {
  const { logger, clock, onDropped } = options;
  const send = createSend(options);
  const turns = createSemaphore(SENDING);
  const waiting = new Map<string, PendingEvent>();
  /** The last delivery of each object: its Events are sent in order. */
  const deliveries = new Map<string, Promise<void>>();
  /** Namespaces to which nothing is sent before this time of the monotonic clock, because an Event failed. */
  const pausedUntil = new Map<string, number>();
  /** Namespaces for which dropping was logged since an Event was last sent. */
  const full = new Set<string>();

  async function turnOf(namespace: string): Promise<Permit> {
    for (;;) {
      const permit = await turns.acquire(namespace, NEVER);
      const pause = (pausedUntil.get(namespace) ?? 0) - clock.monotonic();
      if (pause <= 0) {
        pausedUntil.delete(namespace);
        return permit;
      }
      permit.release();
      await sleep(clock, pause);
    }
  }

  async function deliver(identity: string, event: PendingEvent): Promise<void> {
    const namespace = namespaceOf(event);
    for (let tries = 1; ; tries += 1) {
      const turn = await turnOf(namespace);
      try {
        // An earlier Event that failed took it over.
        if (waiting.get(identity) !== event) return;
        waiting.delete(identity);
        await withinLimit(clock, (signal) => send(identity, event, signal));
        full.delete(namespace);
        return;
      } catch (error) {
        const refused = error instanceof KubernetesError && error.code < 500 && error.code !== 429;
        if (refused || tries === TRIES) return drop(event, error, refused);
        pausedUntil.set(namespace, clock.monotonic() + RETRY_MS);
        const repeat = waiting.get(identity);
        if (repeat) Object.assign(event, { message: repeat.message, times: event.times + repeat.times, last: repeat.last });
        waiting.set(identity, event);
      } finally {
        turn.release();
      }
    }
  }

  function drop(event: PendingEvent, error: unknown, refused: boolean): void {
    const fields = { err: error, namespace: namespaceOf(event), object: event.object.metadata.name, reason: event.reason };
    // A namespace that is being deleted accepts no new objects.
    const leaving = refused && ((error as KubernetesError).code === 404 || /being terminated/.test((error as Error).message));
    logger[leaving ? 'debug' : 'warn'](fields, 'cannot record event');
    onDropped(refused ? 'refused' : 'unavailable');
  }

  return {
    waiting: (identity) => waiting.get(identity),
    add(identity, event) {
      const namespace = namespaceOf(event);
      const ofNamespace = waiting.values().filter((one) => namespaceOf(one) === namespace);
      if (waiting.size >= MAX_WAITING || [...ofNamespace].length >= MAX_WAITING_PER_NAMESPACE) {
        if (!full.has(namespace)) logger.warn({ namespace, waiting: waiting.size }, 'too many events wait, dropping events');
        full.add(namespace);
        return onDropped('full');
      }
      waiting.set(identity, event);
      const id = idOf(event);
      const delivery = (deliveries.get(id) ?? Promise.resolve())
        .then(() => deliver(identity, event))
        .finally(() => deliveries.get(id) === delivery && deliveries.delete(id));
      deliveries.set(id, delivery);
    },
    async flush(withinMs) {
      const sent = async (): Promise<void> => {
        while (deliveries.size > 0) await Promise.all(deliveries.values());
      };
      if (deliveries.size > 0) await Promise.race([sent(), sleep(clock, withinMs)]);
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
