/** A fake of the part of the Kubernetes API that leader election uses: one Lease, with faults that tests switch on. */
import type { Lease } from '../../operator/runtime/leader-election.ts';
import { KubernetesError, type KubernetesConnection, type RequestOptions } from '../../platform/kubernetes/kubernetes.ts';

export interface FakeLeases {
  lease: Lease | null;
  /** Every accepted write, in order. */
  writes: { holder: string; verb: string }[];
  /** Opens the connection of one candidate. */
  connect(): { connection: KubernetesConnection; faults: Faults };
}

export interface Faults {
  /** Requests fail. */
  unavailable: boolean;
  /** Requests get no response; they end only by their signal or time-out. */
  hangs: boolean;
  /** Writes are accepted, but their responses are lost. */
  losesResponses: boolean;
}

export function createFakeLeases(after: (ms: number, run: () => void) => () => void): FakeLeases {
  let version = 0;

  const api: FakeLeases = {
    lease: null,
    writes: [],
    connect() {
      const faults: Faults = { unavailable: false, hangs: false, losesResponses: false };
      const request = async (verb: string, _path: string, options: RequestOptions = {}): Promise<unknown> => {
        options.signal?.throwIfAborted();
        if (faults.hangs) await hang(options);
        if (faults.unavailable) throw new Error('connect ECONNREFUSED');
        // The response arrives in a later turn of the event loop, as from a network.
        await Promise.resolve();
        const response = structuredClone(respond(verb, structuredClone(options.body) as Lease));
        if (faults.losesResponses) throw new Error('read ECONNRESET');
        return response;
      };
      const connection = {
        namespace: 'default',
        path: (_type: unknown, namespace?: string, name = '') => `/${namespace}/${name}`,
        request,
        async *watch() {
          throw new Error('not implemented');
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
