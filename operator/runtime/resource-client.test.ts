import { expect } from 'chai';
import type { KubernetesObject } from '../../core/protocol/custom-resources.ts';
import { KubernetesError, type RequestOptions } from '../../platform/kubernetes/kubernetes.ts';
import type { CacheEvent } from './cache.ts';
import { createResourceClient, ObjectGone } from './resource-client.ts';

interface Widget extends KubernetesObject {
  spec: { size: number };
  status?: { phase?: string };
}

const WIDGETS = { group: 'example.test', version: 'v1', plural: 'widgets' };

/** A server that accepts every write, and a cache that lags behind. */
function lagging() {
  let server: Widget = {
    apiVersion: 'example.test/v1',
    kind: 'Widget',
    metadata: { name: 'w', namespace: 'ns', uid: 'uid-1', resourceVersion: '1' },
    spec: { size: 1 },
    status: { phase: 'new' },
  };
  let cached: Widget | null = server;
  let listener: (event: CacheEvent<Widget>) => void = () => undefined;
  const requests: { verb: string; path: string; body: unknown }[] = [];
  let beforeResponse = () => undefined as void;
  let failure: KubernetesError | null = null;
  const connection = {
    path: (_type: object, namespace?: string, name?: string, subresource?: string) => `/${[namespace, name, subresource].join('/')}`,
    async request(verb: string, path: string, { body }: RequestOptions = {}) {
      requests.push({ verb, path, body });
      if (failure) throw failure;
      const { status, metadata } = body as Partial<Widget>;
      const resourceVersion = String(Number(server.metadata.resourceVersion) + 1);
      const deletion = verb === 'DELETE' && { deletionTimestamp: '2026-01-01T00:00:00Z' };
      const { finalizers = server.metadata.finalizers } = metadata ?? {};
      server = {
        ...server,
        metadata: { ...server.metadata, resourceVersion, ...deletion, finalizers },
        status: { ...server.status, ...status },
      };
      beforeResponse();
      return verb === 'DELETE' && !finalizers?.length ? { kind: 'Status', metadata: {} } : server;
    },
  };
  const client = createResourceClient<Widget>({
    connection: connection as never,
    resource: WIDGETS,
    cache: {
      get: () => cached ?? undefined,
      list: () => (cached ? [cached] : []),
      byIndex: () => (cached ? [cached] : []),
      onChange(added) {
        listener = added;
        return () => undefined;
      },
    },
  });
  return {
    client,
    requests,
    /** The phase as returned by each read method. */
    phases: () => [client.get('ns', 'w'), client.list()[0], client.byIndex('size', '1')[0]].map((widget) => widget?.status?.phase),
    write: (phase: string) => client.patchStatus(client.get('ns', 'w')!, { phase }),
    /** The cache receives this version. */
    catchUp(widget: Widget = server) {
      cached = widget;
      listener({ type: 'modified', object: widget });
    },
    /** The cache holds this version, without an event. */
    hold(widget: Widget) {
      cached = widget;
    },
    foreignWrite(phase: string) {
      server = { ...server, metadata: { ...server.metadata, resourceVersion: '9' }, status: { phase } };
      this.catchUp();
    },
    /** Deletes the object and creates another one with the same name. */
    replace(phase: string) {
      listener({ type: 'deleted', object: server });
      server = { ...server, metadata: { ...server.metadata, uid: 'uid-2', resourceVersion: '20' }, status: { phase } };
      cached = server;
      listener({ type: 'added', object: server });
    },
    /** The cache receives the deletion before the client receives the response to a write. */
    deleteDuringWrite() {
      const deleted = server;
      beforeResponse = () => {
        cached = null;
        listener({ type: 'deleted', object: deleted });
      };
    },
    fail: (code: number, reason = 'Failed', message = 'failed') => void (failure = new KubernetesError(code, reason, message)),
  };
}

const all = (phase: string) => [phase, phase, phase];

describe('resource client', () => {
  it('returns its own writes before the cache has them', async () => {
    const { phases, write, catchUp } = lagging();
    const first = await write('first');
    expect(phases()).to.deep.equal(all('first'));
    await write('second');
    expect(phases()).to.deep.equal(all('second'));
    catchUp(first);
    expect(phases()).to.deep.equal(all('second'));
    catchUp();
    expect(phases()).to.deep.equal(all('second'));
  });

  it("returns another writer's later write", async () => {
    const world = lagging();
    await world.write('own');
    world.foreignWrite('foreign');
    expect(world.phases()).to.deep.equal(all('foreign'));
  });

  it('does not apply an own write to a new object of the same name', async () => {
    const { phases, write, replace } = lagging();
    await write('own');
    replace('successor');
    expect(phases()).to.deep.equal(all('successor'));
  });

  it('keeps no own write to an object whose deletion arrives before the response to the write', async () => {
    const world = lagging();
    const before = world.client.get('ns', 'w')!;
    world.deleteDuringWrite();
    await world.client.patchMetadata(before, { finalizers: [] });
    expect(world.client.get('ns', 'w')).to.equal(undefined);
    // An own write that was kept would hide this version.
    world.hold(before);
    expect(world.client.get('ns', 'w')).to.equal(before);
  });

  it('does not return an object that it deleted before the cache has its deletion', async () => {
    const { phases, client, catchUp } = lagging();
    const before = client.get('ns', 'w')!;
    await client.remove(before);
    expect(phases()).to.deep.equal([undefined, undefined, undefined]);
    // A change from before the deletion.
    catchUp({ ...before, metadata: { ...before.metadata, resourceVersion: '1.5' } });
    expect(phases()).to.deep.equal([undefined, undefined, undefined]);
  });

  it('does not return an object that another deleted before', async () => {
    for (const [code, reason, message, gone] of [
      [404, 'NotFound', 'widgets.example.test "w" not found', true],
      [409, 'Conflict', 'Precondition failed: UID in precondition: uid-1, UID in object meta: uid-2', true],
      [404, 'NotFound', 'the server could not find the requested resource', false],
      [409, 'Conflict', 'admission webhook "guard.example.test" denied the request', false],
    ] as const) {
      const { phases, client, fail } = lagging();
      const before = phases();
      fail(code, reason, message);
      await client.remove(client.get('ns', 'w')!);
      expect(phases(), message).to.deep.equal(gone ? [undefined, undefined, undefined] : before);
    }
  });

  it('returns an object that it deleted while finalizers keep it', async () => {
    const { phases, client } = lagging();
    const read = () => client.get('ns', 'w')!;
    await client.patchMetadata(read(), { finalizers: ['example.test/a', 'example.test/b'] });
    await client.remove(read());
    expect(read().metadata).to.have.property('deletionTimestamp');
    await client.patchMetadata(read(), { finalizers: ['example.test/b'] });
    expect(phases()).to.deep.equal(all('new'));
    await client.patchMetadata(read(), { finalizers: [] });
    expect(phases()).to.deep.equal([undefined, undefined, undefined]);
  });

  it('patches the spec by uid, whatever has changed since it was read', async () => {
    const { client, requests } = lagging();
    await client.patchSpec(client.get('ns', 'w')!, { size: 2 });
    expect(requests).to.deep.equal([{ verb: 'PATCH', path: '/ns/w/', body: { metadata: { uid: 'uid-1' }, spec: { size: 2 } } }]);
  });

  it('sends the resourceVersion that it read with every patch of status and metadata', async () => {
    const { client, requests } = lagging();
    await client.patchStatus(client.get('ns', 'w')!, { phase: null });
    await client.patchMetadata(client.get('ns', 'w')!, { finalizers: [] });
    expect(requests).to.deep.equal([
      { verb: 'PATCH', path: '/ns/w/status', body: { metadata: { resourceVersion: '1' }, status: { phase: null } } },
      { verb: 'PATCH', path: '/ns/w/', body: { metadata: { resourceVersion: '2', finalizers: [] } } },
    ]);
  });

  it('removes the object by uid and accepts that it is already gone', async () => {
    for (const code of [404, 409]) {
      const { client, requests, fail } = lagging();
      fail(code);
      await client.remove(client.get('ns', 'w')!);
      expect(requests[0]).to.deep.include({
        verb: 'DELETE',
        body: { propagationPolicy: 'Background', preconditions: { uid: 'uid-1' } },
      });
    }
  });

  it('says that the object to patch is gone, but not if its definition is missing', async () => {
    const { client, fail } = lagging();
    const patch = () => client.patchMetadata(client.get('ns', 'w')!, { finalizers: [] }).catch((thrown: unknown) => thrown);
    fail(404, 'NotFound', 'widgets.example.test "w" not found');
    expect(await patch())
      .to.be.instanceOf(ObjectGone)
      .and.have.property('code', 404);
    fail(404, 'NotFound', 'the server could not find the requested resource');
    expect(await patch())
      .to.be.instanceOf(KubernetesError)
      .and.not.instanceOf(ObjectGone);
  });
});
