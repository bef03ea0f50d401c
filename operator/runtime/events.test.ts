import { expect } from 'chai';
import type { KubernetesObject } from '../../core/protocol/custom-resources.ts';
import { KubernetesError, type KubernetesConnection } from '../../platform/kubernetes/kubernetes.ts';
import { createFakeClock, settle } from '../../test/support/fake-clock.ts';
import { createFakeLogger } from '../../test/support/fake-logger.ts';
import { createRecorder, type DropReason } from './events.ts';

const object = (namespace: string, name: string): KubernetesObject => ({
  apiVersion: 'example.test/v1',
  kind: 'Widget',
  metadata: { name, namespace, uid: `${namespace}/${name}` },
});

describe('recorder', () => {
  /** A recorder on a fake API server. `answer` decides each request, by its namespace. */
  function setUp(answer: (namespace: string) => Promise<unknown> = () => Promise.resolve({})) {
    const clock = createFakeClock();
    const logger = createFakeLogger();
    const sent: string[] = [];
    const dropped: DropReason[] = [];
    let open = 0;
    let mostOpen = 0;
    const connection = {
      path: (_: unknown, namespace: string) => namespace,
      async request(
        _: string,
        namespace: string,
        { body, timeoutMs }: { body: { involvedObject?: { name: string }; reason: string }; timeoutMs: number },
      ) {
        expect(timeoutMs).to.equal(10_000);
        open += 1;
        mostOpen = Math.max(mostOpen, open);
        try {
          await answer(namespace);
          sent.push(`${namespace}/${body.involvedObject?.name} ${body.reason}`);
        } finally {
          open -= 1;
        }
      },
    } as unknown as KubernetesConnection;
    const recorder = createRecorder({
      connection,
      component: 'test',
      instance: 'pod-1',
      logger,
      clock,
      onDropped: (reason) => dropped.push(reason),
    });
    const warnings = () => logger.lines.filter(({ level }) => level === 'warn').map(({ message }) => message);
    return { clock, logger, recorder, sent, dropped, warnings, mostOpen: () => mostOpen };
  }
  const never = () => new Promise(() => undefined);
  const down = () => Promise.reject(new KubernetesError(503, 'ServiceUnavailable', 'try later'));

  it('sends the Events of other namespaces while one namespace hangs', async () => {
    const { recorder, sent } = setUp((namespace) => (namespace === 'hangs' ? never() : Promise.resolve()));
    for (let index = 0; index < 20; index += 1) recorder.event(object('hangs', `w${index}`), 'Normal', 'A', 'text');
    for (let index = 0; index < 20; index += 1) recorder.event(object('works', `w${index}`), 'Normal', 'A', 'text');
    await settle();
    await settle();
    expect(sent).to.have.length(20);
    expect(new Set(sent.map((line) => line.split('/')[0]))).to.deep.equal(new Set(['works']));
  });

  it('drops an Event after twelve tries, counted and logged', async () => {
    const { recorder, dropped, warnings, clock } = setUp(down);
    recorder.event(object('down', 'a'), 'Normal', 'A', 'text');
    await clock.advance(11 * 5_000);
    expect(dropped).to.deep.equal(['unavailable']);
    expect(warnings()).to.deep.equal(['cannot record event']);
    await recorder.flush();
  });

  it('sends a bounded number of requests at once, and those of a namespace in order', async () => {
    const { recorder, sent, mostOpen } = setUp(() => new Promise((resolve) => setImmediate(resolve)));
    for (let namespace = 0; namespace < 10; namespace += 1)
      for (const reason of ['A', 'B', 'C']) recorder.event(object(`n${namespace}`, 'w'), 'Normal', reason, 'text');
    await recorder.flush();
    expect(mostOpen()).to.equal(8);
    for (let namespace = 0; namespace < 10; namespace += 1)
      expect(sent.filter((line) => line.startsWith(`n${namespace}/`))).to.deep.equal(
        ['A', 'B', 'C'].map((reason) => `n${namespace}/w ${reason}`),
      );
  });

  it('drops Events of a namespace that cannot be written before they use the room of others', async () => {
    const { recorder, sent, dropped, warnings } = setUp((namespace) => (namespace === 'hangs' ? never() : Promise.resolve()));
    for (let index = 0; index < 1_500; index += 1) recorder.event(object('hangs', `w${index}`), 'Normal', 'A', 'text');
    recorder.event(object('works', 'b'), 'Normal', 'A', 'text');
    await settle();
    expect(sent).to.deep.equal(['works/b A']);
    expect(dropped.length).to.equal(1_250);
    expect(new Set(dropped)).to.deep.equal(new Set(['full']));
    expect(warnings()).to.deep.equal(['too many events wait, dropping events']);
  });

  it('counts a refused Event, and does not warn if its namespace is being deleted', async () => {
    const refusals = {
      forbidden: 'forbidden',
      leaving: 'unable to create new content in namespace leaving because it is being terminated',
    };
    const { recorder, dropped, warnings } = setUp((namespace) =>
      Promise.reject(new KubernetesError(403, 'Forbidden', refusals[namespace as keyof typeof refusals])),
    );
    recorder.event(object('leaving', 'a'), 'Normal', 'A', 'text');
    await recorder.flush();
    expect(warnings()).to.deep.equal([]);
    recorder.event(object('forbidden', 'a'), 'Normal', 'A', 'text');
    await recorder.flush();
    expect(warnings()).to.deep.equal(['cannot record event']);
    expect(dropped).to.deep.equal(['refused', 'refused']);
  });

  it('counts Events beyond the limit of one object', async () => {
    const { recorder, dropped } = setUp();
    for (let index = 0; index < 30; index += 1) recorder.event(object('n', 'a'), 'Normal', `R${index}`, 'text');
    await recorder.flush();
    expect(dropped).to.deep.equal(Array.from({ length: 5 }, () => 'rate_limited'));
  });
});
