/**
 * Leader election on a Lease, so that of several operators one acts.
 *
 * Follows client-go's `tools/leaderelection` (v0.36): a lease counts as expired when this process has seen it unchanged
 * for its duration by its own clock (the clock of whoever wrote it is never compared with ours); the leader renews
 * every `retryPeriodMs` and gives up when it has not managed to for `renewDeadlineMs`, which is shorter than the lease,
 * so it stops before another can start; a clean stop hands the lease back at once. Differs: the deadline counts from
 * before the last good renewal was sent, not from its answer; the lease is kept while a stop lets running work finish;
 * and a process that lost the lease campaigns again once its work has come to rest, where client-go's users exit.
 */
import type { V1Lease } from '@kubernetes/client-node';
import type { Logger } from '../../platform/logger.ts';
import {
  KubernetesError,
  type KubernetesConnection,
  type RequestOptions,
  type ResourceType,
} from '../../platform/kubernetes/kubernetes.ts';
import type { ObjectOf } from '../../platform/kubernetes/models.ts';
import { sleep, type Clock } from './clock.ts';
import type { RuntimeMetrics } from './metrics.ts';

export const LEASES: ResourceType = { group: 'coordination.k8s.io', version: 'v1', plural: 'leases' };

/** coordination.k8s.io/v1 Lease. Times are MicroTimes: `2026-01-01T00:00:00.000000Z`. */
export type Lease = ObjectOf<V1Lease>;

export interface LeadOptions {
  connection: KubernetesConnection;
  namespace: string;
  /** The Lease's name. It is made if it is not there. */
  name: string;
  /** Who we are: unique among all that campaign (the pod's name and a random part). */
  identity: string;
  clock: Clock;
  logger: Logger;
  metrics?: RuntimeMetrics;
  /** Ends the campaign; a lease that is held is handed back once `whileLeading` has come to rest. */
  signal: AbortSignal;
  /**
   * What only the leader does. `signal` aborts when it is time to stop: the lease is lost, or the campaign's own signal
   * aborted; the promise must then settle. `lost` aborts in the first case alone, whenever it happens: nothing may be
   * written after it, so give it to whatever writes. On a stop the lease is renewed until the promise settles and is
   * then handed back. If the promise settles without being asked, the lease is handed back and `lead` ends.
   */
  whileLeading: (signal: AbortSignal, lost: AbortSignal) => Promise<void>;
  /** Default 15,000. How long others wait after the last renewal that they saw. */
  leaseDurationMs?: number;
  /** Default 10,000. Must be shorter than the lease: the difference is the margin between two leaders. */
  renewDeadlineMs?: number;
  /** Default 2,000. How often the lease is renewed or tried for; a fifth is added at random. */
  retryPeriodMs?: number;
  random?: () => number;
}

type Bounds = Pick<RequestOptions, 'timeoutMs' | 'signal'>;

/** Milliseconds since the epoch as a Kubernetes MicroTime. */
export function microTime(ms: number): string {
  return new Date(ms).toISOString().replace('Z', '000Z');
}

/**
 * Campaigns, leads, and campaigns again when the lease is lost, until `signal` aborts or `whileLeading` settles by itself.
 * @throws what `whileLeading` throws while it holds the lease
 */
export async function runLeaderElection(options: LeadOptions): Promise<void> {
  const { connection, namespace, identity, clock, metrics, random = Math.random } = options;
  const { leaseDurationMs = 15_000, renewDeadlineMs = 10_000, retryPeriodMs = 2_000 } = options;
  if (!(renewDeadlineMs < leaseDurationMs && retryPeriodMs * 1.2 < renewDeadlineMs)) {
    throw new Error(
      `leader election needs retryPeriodMs (${retryPeriodMs}) × 1.2 < renewDeadlineMs (${renewDeadlineMs}) < leaseDurationMs (${leaseDurationMs})`,
    );
  }
  const logger = options.logger.child({ lease: `${namespace}/${options.name}`, identity });
  const collection = connection.path(LEASES, namespace);
  const path = connection.path(LEASES, namespace, options.name);
  /** The lease as last seen, and when, by our own clock. */
  let seen: { lease: Lease; at: number } | null = null;

  function observe(lease: Lease) {
    const known = seen?.lease.spec;
    const changed = !seen || JSON.stringify(known) !== JSON.stringify(lease.spec);
    const leader = lease.spec?.holderIdentity;
    if (changed && leader && leader !== known?.holderIdentity) logger.info({ leader }, 'sees a new leader');
    // Only a change restarts the waiting: a dead leader's lease is read again and again, and stays as it is.
    seen = { lease, at: changed || !seen ? clock.monotonic() : seen.at };
  }

  const holds = () => seen?.lease.spec?.holderIdentity === identity;

  function claim(previous: Lease | null): Lease {
    const now = microTime(clock.now());
    const spec = previous?.spec;
    const ours = spec?.holderIdentity === identity;
    return {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: previous ? previous.metadata : { name: options.name, namespace },
      spec: {
        holderIdentity: identity,
        leaseDurationSeconds: Math.max(1, Math.ceil(leaseDurationMs / 1000)),
        acquireTime: ours ? spec.acquireTime : now,
        renewTime: now,
        leaseTransitions: previous ? (spec?.leaseTransitions ?? 0) + (ours ? 0 : 1) : 0,
      },
    };
  }

  const put = (lease: Lease, bounds: Bounds) => connection.request<Lease>('PUT', path, { body: lease, ...bounds });

  async function read(bounds: Bounds): Promise<Lease | null> {
    try {
      return await connection.request<Lease>('GET', path, bounds);
    } catch (error) {
      if (error instanceof KubernetesError && error.code === 404) return null;
      throw error;
    }
  }

  /** One try to get or to keep the lease. False: another holds it. Throws where it cannot be told. */
  async function tryLease(bounds: Bounds): Promise<boolean> {
    if (holds()) {
      // The leader need not read first: if anything changed, the resourceVersion makes this a conflict.
      try {
        observe(await put(claim(seen!.lease), bounds));
        return true;
      } catch (error) {
        if (!(error instanceof KubernetesError && (error.code === 409 || error.code === 404))) throw error;
      }
    }
    const current = await read(bounds);
    if (!current) {
      observe(await connection.request<Lease>('POST', collection, { body: claim(null), ...bounds }));
      return true;
    }
    observe(current);
    const { holderIdentity: holder, leaseDurationSeconds = leaseDurationMs / 1000 } = current.spec ?? {};
    const live = clock.monotonic() - seen!.at < leaseDurationSeconds * 1000;
    if (holder && holder !== identity && live) return false;
    observe(await put(claim(current), bounds));
    return true;
  }

  const pause = (signal: AbortSignal) => sleep(clock, retryPeriodMs * (1 + random() * 0.2), signal);

  /** Resolves with the moment from which the lease is surely ours, or null if stopped before. */
  async function campaign(): Promise<number | null> {
    let told = '';
    while (!options.signal.aborted) {
      const asked = clock.monotonic();
      try {
        if (await tryLease({ timeoutMs: renewDeadlineMs / 2, signal: options.signal })) return asked;
        told = '';
      } catch (error) {
        const conflict = error instanceof KubernetesError && error.code === 409;
        if (!conflict && told !== (told = String(error))) logger.warn({ err: error }, 'cannot campaign for the lease, tries again');
      }
      await pause(options.signal);
    }
    return null;
  }

  /** Renews until `over` aborts or the lease is lost; `lose` is called for the second. */
  async function renew(since: number, lost: AbortSignal, over: AbortSignal, lose: (why: string) => void) {
    const late = `it was not renewed for ${renewDeadlineMs / 1000} s`;
    const ended = AbortSignal.any([lost, over]);
    let renewed = since;
    const left = () => renewed + renewDeadlineMs - clock.monotonic();
    let cancelDeadline = clock.after(left(), () => lose(late));
    for (await pause(ended); !ended.aborted; await pause(ended)) {
      // Where the whole process slept (a stopped machine, a blocked loop), the deadline's timer is late too.
      if (left() <= 0) return lose(late);
      const asked = clock.monotonic();
      try {
        // Each try gets half of the deadline at most, so that one hung request leaves time for another.
        const ours = await tryLease({ timeoutMs: Math.min(left(), renewDeadlineMs / 2), signal: lost });
        if (!ours) lose(`${seen?.lease.spec?.holderIdentity} took it`);
        if (lost.aborted) break;
        renewed = asked;
        cancelDeadline();
        cancelDeadline = clock.after(left(), () => lose(late));
      } catch (error) {
        if (!lost.aborted) logger.warn({ err: error }, 'cannot renew the lease, tries again');
      }
    }
    cancelDeadline();
  }

  /** Hands the lease back, so that the next leader need not wait for it to expire. */
  async function release() {
    if (!holds()) return;
    const { lease } = seen!;
    const now = microTime(clock.now());
    const spec = { ...lease.spec, holderIdentity: '', leaseDurationSeconds: 1, renewTime: now, acquireTime: now };
    try {
      observe(await put({ ...lease, spec }, { timeoutMs: renewDeadlineMs / 2 }));
      logger.info({}, 'handed the lease back');
    } catch (error) {
      logger.warn({ err: error }, 'cannot hand the lease back; it expires by itself');
    }
  }

  /** Leads until the lease is lost, a stop, or the end of the work. True: campaign again. */
  async function reign(since: number): Promise<boolean> {
    const [lost, over] = [new AbortController(), new AbortController()];
    const lose = (why: string) => {
      if (lost.signal.aborted) return;
      logger.error({ why }, 'lost the lease');
      metrics?.leading(options.name, false);
      lost.abort(new Error(`the lease is lost: ${why}`));
    };
    logger.info({}, 'leads');
    metrics?.leading(options.name, true);
    const renewals = renew(since, lost.signal, over.signal, lose);
    const signal = AbortSignal.any([options.signal, lost.signal]);
    try {
      await options.whileLeading(signal, lost.signal);
    } catch (error) {
      if (!signal.aborted) throw error;
      logger.warn({ err: error }, 'the end of the leadership cut work short');
    } finally {
      over.abort();
      await renewals;
      if (!lost.signal.aborted) {
        metrics?.leading(options.name, false);
        await release();
      }
    }
    return lost.signal.aborted;
  }

  for (let again = true; again && !options.signal.aborted;) {
    const since = await campaign();
    again = since !== null && (await reign(since));
  }
}
