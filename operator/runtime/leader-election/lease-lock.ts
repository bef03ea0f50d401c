/** The Lease lock of leader election: reads, acquires, renews and releases it. */
import type { V1Lease } from '@kubernetes/client-node';
import type { Logger } from '../../../platform/logger.ts';
import {
  hasCode,
  type KubernetesConnection,
  type ObjectOf,
  readIfThere,
  type RequestOptions,
  type ResourceType,
} from '../../../platform/kubernetes/kubernetes.ts';
import type { Clock } from '../../../platform/clock.ts';

export const LEASES: ResourceType = { group: 'coordination.k8s.io', version: 'v1', plural: 'leases' };

/** coordination.k8s.io/v1 Lease. Times are MicroTimes: `2026-01-01T00:00:00.000000Z`. */
export type Lease = ObjectOf<V1Lease>;

type Bounds = Pick<RequestOptions, 'timeoutMs' | 'signal'>;

/** A renewal must not wait for the sockets of a busy operator: it would lose the lease. */
const AT_ONCE: Pick<RequestOptions, 'sockets'> = { sockets: 'watches' };

export interface LeaseLock {
  /** Acquires or renews the lease. @returns false if another replica holds it. @throws if the outcome is unknown */
  acquireOrRenew(bounds: Bounds): Promise<boolean>;
  /** Releases the lease if it is held, so that the next leader does not wait until it expires. Never throws. */
  release(timeoutMs: number): Promise<void>;
  /** The last known holder. */
  readonly holder: string | undefined;
}

export interface LeaseLockOptions {
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

/** Formats a time as a Kubernetes MicroTime. */
export function microTime(time: Date): string {
  return time.toISOString().replace('Z', '000Z');
}

export function createLeaseLock(options: LeaseLockOptions): LeaseLock {
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
    async acquireOrRenew(bounds) {
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
    async release(timeoutMs) {
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

/** Builds the lease as held by `identity` from now on. */
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
