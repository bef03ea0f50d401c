/**
 * Leader election with a Lease, so that only one replica acts.
 *
 * Follows client-go's `tools/leaderelection` (v0.36). A lease has expired when this process has seen it unchanged for its
 * duration by its own clock; clocks of different machines are never compared. The leader renews every `retryPeriodMs`, and
 * stops leading after `renewDeadlineMs` without a renewal. This is shorter than the lease duration, so it stops before another
 * replica can start. A graceful stop releases the lease at once. Differences:
 * - the deadline counts from the time at which the last successful renewal was sent, not from its response
 * - the lease is kept while a stop lets running work finish
 * - a process that lost the lease campaigns again after its work has ended (users of client-go exit)
 */
import type { V1Lease } from '@kubernetes/client-node';
import type { Logger } from '../../platform/logger.ts';
import {
  hasCode,
  type KubernetesConnection,
  readIfThere,
  type RequestOptions,
  type ResourceType,
  type ObjectOf,
} from '../../platform/kubernetes/kubernetes.ts';
import { type Clock, sleep } from '../../platform/clock.ts';
import type { RuntimeMetrics } from './metrics.ts';
export interface LeaderElectionOptions extends LeaseLockOptions {
  metrics?: RuntimeMetrics;
  /** Ends the campaign. A held lease is released when `whileLeading` has settled. */
  signal: AbortSignal;
  /**
   * The work of the leader. `signal` aborts if the lease is lost or the campaign's own signal aborts; the promise must then
   * settle. `lost` aborts only if the lease is lost, even if this happens later. Pass it to everything that writes, because
   * the process must not write afterwards. On a stop, the lease is renewed until the promise settles and is then released.
   * If the promise settles by itself, the lease is released and the election ends.
   */
  whileLeading: (signal: AbortSignal, lost: AbortSignal) => Promise<void>;
  /** Must be shorter than the lease; the difference is the margin between two leaders. */
  renewDeadlineMs: number;
  /** The interval of renewals and of attempts to acquire; up to a fifth is added at random. */
  retryPeriodMs: number;
  random?: () => number;
}

interface Election {
  options: LeaderElectionOptions;
  lock: ReturnType<typeof createLeaseLock>;
  logger: Logger;
  pause: (signal: AbortSignal) => Promise<void>;
}

/**
 * Campaigns, leads, and campaigns again when the lease is lost, until `signal` aborts or `whileLeading` settles by itself.
 * @throws the error that `whileLeading` throws while it holds the lease
 */
export async function runLeaderElection(options: LeaderElectionOptions): Promise<void> {
  const { namespace, name, identity, clock, leaseDurationMs, renewDeadlineMs, retryPeriodMs, random = Math.random } = options;
  if (!(renewDeadlineMs < leaseDurationMs && retryPeriodMs * 1.2 < renewDeadlineMs)) {
    throw new Error(
      `leader election needs retryPeriodMs (${retryPeriodMs}) × 1.2 < renewDeadlineMs (${renewDeadlineMs}) < leaseDurationMs (${leaseDurationMs})`,
    );
  }
  const logger = options.logger.child({ lease: `${namespace}/${name}`, identity });
  const election: Election = {
    options,
    lock: createLeaseLock({ ...options, logger }),
    logger,
    pause: (signal) => sleep(clock, retryPeriodMs * (1 + random() * 0.2), signal),
  };
  for (let again = true; again && !options.signal.aborted;) {
    const since = await campaign(election);
    again = since !== null && (await lead(election, since));
  }
}

/** @returns the start time of the lease in the worst case, or null if stopped before */
async function campaign({ options, lock, logger, pause }: Election): Promise<number | null> {
  const { signal, clock, renewDeadlineMs } = options;
  let lastError = '';
  while (!signal.aborted) {
    const askedAt = clock.monotonic();
    try {
      if (await lock.acquireOrRenew({ timeoutMs: renewDeadlineMs / 2, signal })) return askedAt;
      lastError = '';
    } catch (error) {
      // A conflict means that another candidate acquired the lease first.
      if (!hasCode(error, 409) && lastError !== (lastError = String(error))) logger.warn({ err: error }, 'cannot acquire lease, retrying');
    }
    await pause(signal);
  }
  return null;
}

/** Leads until the lease is lost, the signal aborts, or the work ends. @returns true to campaign again */
async function lead(election: Election, since: number): Promise<boolean> {
  const { options, lock, logger } = election;
  const [lost, over] = [new AbortController(), new AbortController()];
  const lose = (why: string) => {
    if (lost.signal.aborted) return;
    logger.error({ why }, 'lost lease');
    options.metrics?.leading(options.name, false);
    lost.abort(new Error(`lost lease: ${why}`));
  };
  logger.info({}, 'acquired lease');
  options.metrics?.leading(options.name, true);
  const renewals = renew(election, { since, lost: lost.signal, over: over.signal, lose });
  const signal = AbortSignal.any([options.signal, lost.signal]);
  try {
    await options.whileLeading(signal, lost.signal);
  } catch (error) {
    if (!signal.aborted) throw error;
    logger.warn({ err: error }, 'work aborted after losing the lease');
  } finally {
    over.abort();
    await renewals;
    if (!lost.signal.aborted) {
      options.metrics?.leading(options.name, false);
      await lock.release(options.renewDeadlineMs / 2);
    }
  }
  return lost.signal.aborted;
}

/** Renews until `over` aborts or the lease is lost. Calls `lose` if it is lost. */
async function renew(
  { options, lock, logger, pause }: Election,
  { since, lost, over, lose }: { since: number; lost: AbortSignal; over: AbortSignal; lose: (why: string) => void },
): Promise<void> {
  const { clock, renewDeadlineMs } = options;
  const late = `not renewed for ${renewDeadlineMs / 1000} s`;
  const ended = AbortSignal.any([lost, over]);
  let renewedAt = since;
  const left = () => renewedAt + renewDeadlineMs - clock.monotonic();
  let cancelDeadline = clock.after(left(), () => lose(late));
  for (await pause(ended); !ended.aborted; await pause(ended)) {
    // If the whole process was suspended or its event loop blocked, the deadline timer is late too.
    if (left() <= 0) return lose(late);
    const askedAt = clock.monotonic();
    try {
      // Each attempt gets at most half of the deadline, so that a hung request leaves time for another one.
      const held = await lock.acquireOrRenew({ timeoutMs: Math.min(left(), renewDeadlineMs / 2), signal: lost });
      if (!held) lose(`taken by ${lock.holder}`);
      if (lost.aborted) break;
      renewedAt = askedAt;
      cancelDeadline();
      cancelDeadline = clock.after(left(), () => lose(late));
    } catch (error) {
      if (!lost.aborted) logger.warn({ err: error }, 'cannot renew lease, retrying');
    }
  }
  cancelDeadline();
}

/** The Lease lock of leader election: reads, acquires, renews and releases it. */
export const LEASES: ResourceType = { group: 'coordination.k8s.io', version: 'v1', plural: 'leases' };

/** coordination.k8s.io/v1 Lease. Times are MicroTimes: `2026-01-01T00:00:00.000000Z`. */
export type Lease = ObjectOf<V1Lease>;

type Bounds = Pick<RequestOptions, 'timeoutMs' | 'signal'>;

/** A renewal must not wait for the sockets of a busy operator: it would lose the lease. */
const AT_ONCE: Pick<RequestOptions, 'sockets'> = { sockets: 'heartbeats' };

interface LeaseLockOptions {
  connection: KubernetesConnection;
  namespace: string;
  /** The Lease's name. It is created if it does not exist. */
  name: string;
  /** The unique name of this candidate: the pod's name and a random part. */
  identity: string;
  /** How long other candidates wait after the last renewal that they saw. */
  leaseDurationMs: number;
  clock: Clock;
  logger: Logger;
}

export function microTime(time: Date): string {
  return time.toISOString().replace('Z', '000Z');
}

function createLeaseLock(options: LeaseLockOptions) {
  const { connection, namespace, identity, clock, logger, leaseDurationMs } = options;
  const path = connection.path(LEASES, namespace, options.name);
  /** The last known lease, and the time of its last change by this process's clock. */
  let seen: { lease: Lease; at: number } | null = null;
  const holder = () => seen?.lease.spec?.holderIdentity;

  function observe(lease: Lease) {
    const known = seen?.lease.spec;
    const changed = !seen || JSON.stringify(known) !== JSON.stringify(lease.spec);
    const leader = lease.spec?.holderIdentity;
    if (changed && leader && leader !== known?.holderIdentity) logger.info({ leader }, 'new leader elected');
    // Only a change restarts the wait: the lease of a crashed leader does not change.
    seen = { lease, at: changed || !seen ? clock.monotonic() : seen.at };
  }

  const put = (lease: Lease, bounds: Bounds) => connection.request<Lease>('PUT', path, { body: lease, ...bounds, ...AT_ONCE });
  const claim = (previous: Lease | null): Lease => leaseHeldBy(previous, options);

  return {
    /** Acquires or renews the lease. @returns false if another replica holds it. @throws if the outcome is unknown */
    async acquireOrRenew(bounds: Bounds): Promise<boolean> {
      if (holder() === identity) {
        // The leader does not read first: if the lease has changed, the resourceVersion causes a conflict.
        try {
          observe(await put(claim(seen!.lease), bounds));
          return true;
        } catch (error) {
          if (!hasCode(error, 409, 404)) throw error;
        }
      }
      const current = await readIfThere<Lease>(connection, path, { ...bounds, ...AT_ONCE });
      if (!current) {
        observe(await connection.request<Lease>('POST', connection.path(LEASES, namespace), { body: claim(null), ...bounds, ...AT_ONCE }));
        return true;
      }
      observe(current);
      const { holderIdentity, leaseDurationSeconds = leaseDurationMs / 1000 } = current.spec ?? {};
      const live = clock.monotonic() - seen!.at < leaseDurationSeconds * 1000;
      if (holderIdentity && holderIdentity !== identity && live) return false;
      observe(await put(claim(current), bounds));
      return true;
    },
    /** Releases the lease if it is held, so that the next leader does not wait until it expires. Never throws. */
    async release(timeoutMs: number): Promise<void> {
      if (holder() !== identity) return;
      const { lease } = seen!;
      const now = microTime(clock.now());
      const spec = { ...lease.spec, holderIdentity: '', leaseDurationSeconds: 1, renewTime: now, acquireTime: now };
      try {
        observe(await put({ ...lease, spec }, { timeoutMs }));
        logger.info({}, 'released lease');
      } catch (error) {
        logger.warn({ err: error }, 'cannot release lease, it will expire');
      }
    },
    get holder() {
      return holder();
    },
  };
}

function leaseHeldBy(previous: Lease | null, { name, namespace, identity, leaseDurationMs, clock }: LeaseLockOptions): Lease {
  const now = microTime(clock.now());
  const spec = previous?.spec;
  const renews = spec?.holderIdentity === identity;
  return {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: previous ? previous.metadata : { name, namespace },
    spec: {
      holderIdentity: identity,
      leaseDurationSeconds: Math.max(1, Math.ceil(leaseDurationMs / 1000)),
      acquireTime: renews ? spec.acquireTime : now,
      renewTime: now,
      leaseTransitions: previous ? (spec?.leaseTransitions ?? 0) + (renews ? 0 : 1) : 0,
    },
  };
}
