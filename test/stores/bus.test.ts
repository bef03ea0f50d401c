import { expect } from 'chai';
import { connect, jwtAuthenticator, type NatsConnection } from '@nats-io/transport-node';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startMessages, type Messages } from '../../local/messages/messages.ts';
import { createMessageBus, noMessageBus, type MessageBus } from '../../stores/nats.ts';
import { OWN_LOOPBACK } from '../support/own-loopback.ts';
import { silentLogger } from '../support/silent-logger.ts';

const scanId = '6f9d6c1e-3d3c-4f0e-9d55-5d0f4a1b2c3d';
const other = '00000000-3d3c-4f0e-9d55-5d0f4a1b2c3d';

/** Polls until a condition holds. @throws after a minute */
async function until(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = Date.now() + 60_000;
  while (!(await holds())) {
    if (Date.now() > deadline) throw new Error(`timed out waiting for ${what}`);
    await new Promise((next) => setTimeout(next, 10));
  }
}

describe('message bus', () => {
  let folder: string;
  let messages: Messages;
  let bus: MessageBus;
  const opened: { close(): Promise<void> }[] = [];

  const busOf = (from: Messages): MessageBus => {
    const { url, credentialsFile, signingSeed } = from;
    const made = createMessageBus({ url, podUrl: 'nats://pods.example:4222', credentialsFile, signingSeed, logger: silentLogger });
    opened.push(made);
    return made;
  };

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'curbcut-bus-'));
    messages = await startMessages({ dataDir: folder });
    bus = busOf(messages);
    await until('a connection', () => bus.connected);
  });
  after(async () => {
    for (const one of opened) await one.close();
    await messages.close();
    rmSync(folder, { recursive: true, force: true });
  });

  /** Connects like a scan's pod, and collects the errors of the server. */
  async function asPod(id: string, expiresAt: Date): Promise<{ pod: NatsConnection; refusals: string[] }> {
    const credential = bus.issueScanCredential(id, expiresAt)!;
    const authenticator = jwtAuthenticator(credential.jwt, Buffer.from(credential.seed));
    const pod = await connect({ servers: messages.url, authenticator, reconnect: false });
    opened.push(pod);
    const refusals: string[] = [];
    void (async () => {
      for await (const status of pod.status()) if (status.type === 'error') refusals.push(status.error.message);
    })();
    return { pod, refusals };
  }
  const inAnHour = (): Date => new Date(Date.now() + 3_600_000);

  it('delivers the changes of a scan only to its followers', async () => {
    const replica = busOf(messages);
    await until('a connection', () => replica.connected);
    const seen = { own: 0, foreign: 0, other: 0 };
    const stop = replica.followStatus('acme', scanId, () => (seen.own += 1));
    replica.followStatus('globex', scanId, () => (seen.foreign += 1));
    replica.followStatus('acme', other, () => (seen.other += 1));
    await until('the first message', () => {
      bus.publishStatus('acme', scanId);
      return seen.own > 0;
    });
    expect(seen).to.include({ foreign: 0, other: 0 });

    // A connection delivers messages in their order: after this one, none that was sent before the stop is in flight.
    bus.publishStatus('acme', other);
    await until('the message of the other scan', () => seen.other === 1);
    stop();
    const before = seen.own;
    bus.publishStatus('acme', scanId);
    bus.publishStatus('acme', other);
    await until('the message after it', () => seen.other === 2);
    expect(seen).to.include({ own: before, foreign: 0 });
  });

  it('receives messages of a pod on its own subject, and drops oversized ones', async () => {
    const heard: [string, number][] = [];
    const stop = bus.followProgress((id, payload) => heard.push([id, payload.byteLength]));
    const { pod } = await asPod(scanId, inAnHour());
    const service = await connect({ servers: messages.url, authenticator: jwtAuthenticator(...serviceCredential()) });
    opened.push(service);
    await until('the first message', () => {
      pod.publish(`progress.${scanId}`, 'x'.repeat(4096));
      return heard.length > 0;
    });
    service.publish(`progress.${scanId}`, 'x'.repeat(4097));
    service.publish(`progress.${other}`, 'the end');
    await until('the end', () => heard.some(([id]) => id === other));
    expect(heard.filter(([id]) => id === scanId).every(([, bytes]) => bytes === 4096)).to.equal(true);
    stop();

    /** The credential of the service itself, which has all permissions. */
    function serviceCredential(): [string, Uint8Array] {
      const [jwt, seed] = [...readFileSync(messages.credentialsFile, 'utf8').matchAll(/-----BEGIN [^\n]*\n([^\n]+)\n/g)].map(
        (match) => match[1]!,
      );
      return [jwt!, Buffer.from(seed!)];
    }
  });

  it('denies a pod every other subject, to publish and to subscribe', async () => {
    const heard: string[] = [];
    const stop = bus.followProgress((id) => heard.push(id));
    const { pod, refusals } = await asPod(scanId, inAnHour());
    const subjects = [`progress.${other}`, `status.acme.${scanId}`, 'progress', `progress.${scanId}.x`, '_INBOX.x', '$SYS.REQ.SERVER.PING'];
    for (const subject of subjects) pod.publish(subject, 'forged');
    for (const subject of ['>', `progress.${scanId}`, 'status.*.*', '_INBOX.>']) {
      const refused = await new Promise((resolve) => pod.subscribe(subject, { callback: (error) => resolve(error) }));
      expect(refused, subject).to.be.instanceOf(Error);
    }
    pod.publish(`progress.${scanId}`, 'mine');
    await pod.flush();
    await until('the pod’s own message', () => heard.includes(scanId));
    expect(heard).to.not.include(other);
    expect(refusals.filter((refusal) => /publish/i.test(refusal))).to.have.length(subjects.length);
    stop();
  });

  it('enforces the maximum message size of a pod', async () => {
    const { pod } = await asPod(scanId, inAnHour());
    expect(pod.info!.max_payload).to.equal(4096);
    expect(() => pod.publish(`progress.${scanId}`, 'x'.repeat(4097))).to.throw('max_payload');
    // The server closes the connection of a client that ignores the announced limit.
    pod.info!.max_payload = 65_536;
    pod.publish(`progress.${scanId}`, 'x'.repeat(4097));
    await pod.closed();
    expect(pod.isClosed()).to.equal(true);
  });

  it('disconnects a pod when its credential expires, and rejects it afterwards', async () => {
    const expiresAt = new Date(Date.now() + 1_000);
    const credential = bus.issueScanCredential(scanId, expiresAt)!;
    const authenticator = jwtAuthenticator(credential.jwt, Buffer.from(credential.seed));
    const pod = await connect({ servers: messages.url, authenticator, reconnect: false });
    await pod.closed();
    expect(Date.now()).to.be.at.least(expiresAt.getTime());
    // Within the second of the expiry, the server accepts the connection and closes it immediately.
    await until('a refusal', async () => {
      const again = await connect({ servers: messages.url, authenticator, reconnect: false }).catch(() => null);
      await again?.closed();
      return again === null;
    });
  });

  it('issues no credentials without a signing seed', async () => {
    const { url, credentialsFile } = messages;
    const unsigned = createMessageBus({ url, credentialsFile, logger: silentLogger });
    opened.push(unsigned);
    expect(unsigned.issueScanCredential(scanId, inAnHour())).to.equal(null);
    expect(() => createMessageBus({ url, signingSeed: 'SUABC', logger: silentLogger })).to.throw();
  });

  it('connects when the server starts, and reconnects with all subscriptions', async () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'curbcut-bus-'));
    // The first start creates the keys.
    const first = await startMessages({ dataDir, host: OWN_LOOPBACK });
    const port = Number(new URL(first.url).port);
    await first.close();
    const early = busOf(first);
    let [seen, lost] = [0, 0];
    early.followStatus('acme', scanId, () => (seen += 1));
    early.followStatus('acme', other, () => (lost += 1));
    expect(early.connected).to.equal(false);
    early.publishStatus('acme', other);

    for (const start of [1, 2]) {
      const running = await startMessages({ dataDir, host: OWN_LOOPBACK, port });
      await until('a connection', () => early.connected);
      seen = 0;
      await until(`a message after start ${start}`, () => {
        early.publishStatus('acme', scanId);
        return seen > 0;
      });
      await running.close();
      await until('the loss', () => !early.connected);
      early.publishStatus('acme', other);
    }
    expect(lost, 'messages sent without a connection are lost').to.equal(0);
    await early.close();
    rmSync(dataDir, { recursive: true, force: true });
  });

  it('closes if it never connected', async () => {
    const lost = createMessageBus({ url: 'nats://127.0.0.1:1', credentialsFile: '/nonexistent', logger: silentLogger });
    await lost.close();
    expect(lost.connected).to.equal(false);
  });

  it('does nothing if no bus is configured', async () => {
    const none = noMessageBus();
    none.publishStatus('acme', scanId);
    none.followStatus('acme', scanId, () => undefined)();
    none.followProgress(() => undefined)();
    expect([none.connected, none.issueScanCredential(scanId, new Date())]).to.deep.equal([false, null]);
    await none.close();
  });
});
