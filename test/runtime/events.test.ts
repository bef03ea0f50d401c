import { expect } from 'chai';
import { createRecorder, type Recorder } from '../../operator/runtime/events.ts';
import type { KubernetesObject } from '../../core/protocol/custom-resources.ts';
import type { KubernetesConnection } from '../../platform/kubernetes/kubernetes.ts';
import { createFakeClock } from '../support/fake-clock.ts';
import { configMaps, useCluster, type ConfigMap } from './cluster.ts';
import { createFakeLogger } from '../support/fake-logger.ts';

interface RecordedEvent extends KubernetesObject {
  involvedObject: { kind: string; name: string; uid: string };
  type: string;
  reason: string;
  message: string;
  count: number;
  firstTimestamp: string;
  lastTimestamp: string;
  source: { component: string };
  reportingComponent: string;
}

const EVENTS = { group: '', version: 'v1', plural: 'events' };

describe('events, against a Kubernetes API', () => {
  const cluster = useCluster();
  let namespace: string;
  let map: ConfigMap;
  before(async () => (namespace = await cluster.namespace()));

  let serial = 0;
  beforeEach(async () => {
    map = await configMaps(cluster.connection, namespace).create(`m${serial++}`, '');
  });

  function setUp(connection: KubernetesConnection = cluster.connection) {
    const clock = createFakeClock(Date.now());
    const logger = createFakeLogger();
    const recorder: Recorder = createRecorder({
      connection,
      component: 'curbcut-test',
      instance: 'pod-1',
      logger,
      clock,
      onDropped: () => undefined,
    });
    return { clock, logger, recorder };
  }

  /** Lists events with the query of `kubectl describe`. */
  async function eventsOf(object: KubernetesObject): Promise<RecordedEvent[]> {
    const { connection } = cluster;
    const { items } = await connection.request<{ items: RecordedEvent[] }>('GET', connection.path(EVENTS, namespace), {
      query: { fieldSelector: `involvedObject.name=${object.metadata.name},involvedObject.uid=${object.metadata.uid}` },
    });
    return items;
  }

  it('records an event that kubectl describe shows', async () => {
    const { recorder, clock } = setUp();
    recorder.event(map, 'Warning', 'PodLost', 'the node is gone; the scan starts again');
    await recorder.flush();
    const [event] = await eventsOf(map);
    expect(event).to.deep.include({
      type: 'Warning',
      reason: 'PodLost',
      message: 'the node is gone; the scan starts again',
      count: 1,
      firstTimestamp: clock
        .now()
        .toISOString()
        .replace(/\.\d+Z/, 'Z'),
      source: { component: 'curbcut-test' },
      reportingComponent: 'curbcut-test',
    });
    expect(event?.involvedObject).to.include({ kind: 'ConfigMap', uid: map.metadata.uid! });
  });

  it('counts repeats of sent and unsent events', async () => {
    const { recorder, clock } = setUp();
    for (let i = 0; i < 3; i++) recorder.event(map, 'Normal', 'Waiting', 'the queue is full');
    await recorder.flush();
    await clock.advance(5000);
    recorder.event(map, 'Normal', 'Waiting', 'the queue is full');
    recorder.event(map, 'Normal', 'Launched', 'Job a');
    await recorder.flush();
    const events = await eventsOf(map);
    expect(events.map(({ reason, count }) => `${reason} ${count}`)).to.have.members(['Waiting 4', 'Launched 1']);
    const waiting = events.find(({ reason }) => reason === 'Waiting')!;
    expect(Date.parse(waiting.lastTimestamp) - Date.parse(waiting.firstTimestamp)).to.be.within(4000, 6000);
  });

  it('creates a new event if the repeated one was deleted', async () => {
    const { recorder } = setUp();
    const { connection } = cluster;
    recorder.event(map, 'Normal', 'Waiting', 'the queue is full');
    await recorder.flush();
    const [first] = await eventsOf(map);
    await connection.request('DELETE', connection.path(EVENTS, namespace, first!.metadata.name));
    recorder.event(map, 'Normal', 'Waiting', 'the queue is full');
    await recorder.flush();
    expect((await eventsOf(map)).map(({ count }) => count)).to.deep.equal([1]);
  });

  it('never throws, also for an invalid object, a long message or a missing namespace', async () => {
    const { recorder, logger } = setUp();
    recorder.event({} as KubernetesObject, 'Normal', 'A', 'b');
    recorder.event({ ...map, metadata: { ...map.metadata, namespace: 'curbcut-missing' } }, 'Normal', 'A', 'b');
    recorder.event(map, 'Normal', 'Long', 'ł'.repeat(5000));
    await recorder.flush();
    expect((await eventsOf(map)).map(({ message }) => message.length)).to.deep.equal([1024]);
    // A missing namespace is normal: it was deleted.
    expect(logger.lines.filter(({ level }) => level === 'warn').length).to.equal(1);
  });
});
