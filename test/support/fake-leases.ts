/** As much of a Kubernetes API as leader election asks for: one Lease, with faults that a test switches on. */
import type { Lease } from '../../operator/runtime/lease-lock.ts';
import { KubernetesError, type KubernetesConnection, type RequestOptions } from '../../platform/kubernetes/kubernetes.ts';

export interface FakeLeases {
  lease: Lease | null;
  /** Every write that was taken, in order. */
  writes: { holder: string; verb: string }[];
  /** A connection as one campaigner holds it. */
  connect(): { connection: KubernetesConnection; faults: Faults };
}

export interface Faults {
  /** Requests fail. */
  away: boolean;
  /** Requests are never answered; they end by their signal or time-out only. */
  hangs: boolean;
  /** Writes are taken, but their answers are lost. */
  deaf: boolean;
}

export function createFakeLeases(after: (ms: number, run: () => void) => () => void): FakeLeases {
  let version = 0;

  const api: FakeLeases = {
    lease: null,
    writes: [],
    connect() {
      const faults: Faults = { away: false, hangs: false, deaf: false };
      const request = async (verb: string, _path: string, options: RequestOptions = {}): Promise<unknown> => {
        options.signal?.throwIfAborted();
        if (faults.hangs) await hang(options);
        if (faults.away) throw new Error('connect ECONNREFUSED');
        // The answer comes in a later turn, as it would from a network.
        await Promise.resolve();
        const answer = structuredClone(respond(verb, structuredClone(options.body) as Lease));
        if (faults.deaf) throw new Error('read ECONNRESET');
        return answer;
      };
      const connection = {
        namespace: 'default',
        path: (_type: unknown, namespace?: string, name = '') => `/${namespace}/${name}`,
        request,
        async *watch() {
          throw new Error('nobody watches here');
        },
        close: async () => {},
      } as unknown as KubernetesConnection;
      return { connection, faults };
    },
  };

  function hang({ signal, timeoutMs = 30_000 }: RequestOptions): Promise<never> {
    return new Promise((_, reject) => {
      const cancel = after(timeoutMs, () => reject(new Error('timed out')));
      signal?.addEventListener('abort', () => {
        cancel();
        reject(signal.reason as Error);
      });
    });
  }

  function respond(verb: string, body: Lease): Lease {
    const { lease } = api;
    if (verb === 'GET') {
      if (!lease) throw new KubernetesError(404, 'NotFound', 'not found');
      return lease;
    }
    if (verb === 'POST') {
      if (lease) throw new KubernetesError(409, 'AlreadyExists', 'already exists');
      body.metadata.uid = 'uid';
    } else {
      if (!lease) throw new KubernetesError(404, 'NotFound', 'not found');
      if (body.metadata.resourceVersion !== lease.metadata.resourceVersion) throw new KubernetesError(409, 'Conflict', 'modified');
    }
    body.metadata.resourceVersion = String(++version);
    api.lease = body;
    api.writes.push({ holder: body.spec?.holderIdentity ?? '', verb });
    return body;
  }

  return api;
}
