/** Credentials that change while the process runs: connections to the real servers, by settings from files. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { connect, jwtAuthenticator } from '@nats-io/transport-node';
import { startMessages } from '../../local/messages/messages.ts';
import { startObjects } from '../../local/objects/objects.ts';
import { Type } from '../../platform/configuration.ts';
import { openSettingFiles, type SettingFiles } from '../../platform/setting-files.ts';
import { DatabaseSettings, NatsSettings, S3Settings } from '../../platform/settings.ts';
import { openDatabase } from '../../stores/database.ts';
import { createMessageBus } from '../../stores/nats.ts';
import { createReports } from '../../stores/reports.ts';
import { openS3Identity } from '../../stores/s3-identity.ts';
import { Environment as OperatorEnvironment } from '../../operator/config.ts';
import { eventually } from '../api/context.ts';
import { openDatabaseServer } from '../support/databases.ts';
import { createFakeLogger } from '../support/fake-logger.ts';
import { mountSecret, type MountedSecret } from '../support/mounted-secret.ts';

describe('rotation of credentials', () => {
  const closing: (() => unknown)[] = [];
  let logger = createFakeLogger();
  beforeEach(() => (logger = createFakeLogger()));
  afterEach(async () => {
    for (const close of closing.splice(0).reverse()) await close();
  });

  function follow(
    schema: Parameters<typeof openSettingFiles>[0],
    values: Record<string, string>,
  ): { files: SettingFiles; mounted: MountedSecret } {
    const mounted = mountSecret(values);
    const files = openSettingFiles(schema, mounted.environment);
    closing.push(mounted.remove, files.follow(logger, 10));
    return { files, mounted };
  }
  const folder = (): string => {
    const made = mkdtempSync(join(tmpdir(), 'curbcut-rotation-'));
    closing.push(() => rmSync(made, { recursive: true, force: true }));
    return made;
  };

  it('replaces the connections to MongoDB, once the new connection string works', async () => {
    const server = await openDatabaseServer();
    closing.push(server.close);
    const [first, second] = [server.newDatabase(), server.newDatabase()];
    const { files, mounted } = follow(Type.Object(DatabaseSettings), { MONGODB_URL: first });
    const database = openDatabase({ MONGODB_URL: first }, { logger, live: files, anonymousConnections: 2 });
    closing.push(() => database.close());
    await database.prepare();
    const organisation = { displayName: 'Acme', plan: 'team' as const, namespaces: [] };
    await database.stores.organisations.add({ id: 'first', ...organisation });

    mounted.write({ MONGODB_URL: 'mongodb://user:hush@127.0.0.1:1/curbcut?serverSelectionTimeoutMS=100' });
    const refused = 'the changed MONGODB_URL does not work; the earlier one stays in use until it does';
    await eventually('the refusal', () => logger.lines.find(({ message }) => message === refused));
    expect(await database.stores.organisations.find('first')).to.include({ id: 'first' });

    mounted.write({ MONGODB_URL: second });
    await eventually('the replacement', () => logger.lines.find(({ message }) => message === 'database connections replaced'), 20_000);
    expect(await database.stores.organisations.find('first')).to.equal(null);
    await database.prepare();
    await database.stores.organisations.add({ id: 'second', ...organisation });
    expect(await database.anonymousStores.organisations.find('second')).to.include({ id: 'second' });
    expect(JSON.stringify(logger.lines)).not.to.include('hush');
  });

  it('connects to NATS again with the new address and credentials, and signs with the new seed', async () => {
    const [first, second] = [await startMessages({ dataDir: folder() }), await startMessages({ dataDir: folder() })];
    closing.push(first.close, second.close);
    const credentialsFile = join(folder(), 'user.creds');
    writeFileSync(credentialsFile, readFileSync(first.credentialsFile));
    const seedSchema = { NATS_SIGNING_SEED: OperatorEnvironment.properties.NATS_SIGNING_SEED };
    const { files, mounted } = follow(Type.Object({ ...NatsSettings, ...seedSchema }), {
      NATS_URL: first.url,
      NATS_SIGNING_SEED: first.signingSeed,
    });
    const bus = createMessageBus({
      url: files.credential('NATS_URL')!,
      credentialsFile,
      signingSeed: files.credential('NATS_SIGNING_SEED'),
      logger,
    });
    closing.push(() => bus.close());
    files.onChange(['NATS_URL'], () => bus.renew());
    const seen: string[] = [];
    bus.followProgress((scan) => seen.push(scan));
    const report = async (scan: string) => {
      const { url, subject, jwt, seed } = bus.issueScanCredential(scan, new Date(Date.now() + 60_000))!;
      const pod = await connect({ servers: url, authenticator: jwtAuthenticator(jwt, Buffer.from(seed)), reconnect: false });
      pod.publish(subject, '{}');
      await pod.flush();
      await pod.close();
      await eventually(`progress of ${scan}`, () => seen.includes(scan));
    };
    await eventually('a connection', () => bus.connected);
    await report('one');

    writeFileSync(credentialsFile, readFileSync(second.credentialsFile));
    mounted.write({ NATS_URL: second.url, NATS_SIGNING_SEED: second.signingSeed });
    await eventually('the new server', () => logger.lines.some(({ fields }) => fields['server'] === new URL(second.url).host));
    await report('two');

    // Of the right form, with a wrong checksum.
    mounted.write({ NATS_URL: second.url, NATS_SIGNING_SEED: `SA${'A'.repeat(56)}` });
    await eventually('the change', () => files.credential('NATS_SIGNING_SEED')!().startsWith('SAAAA'));
    await report('three');
    expect(logger.lines.find(({ level }) => level === 'error')?.fields).to.deep.equal({ setting: 'NATS_SIGNING_SEED' });
  });

  it('signs requests and links of the object store with the new access key', async () => {
    const dataDir = folder();
    const start = (port: number, accessKeyId: string, secretAccessKey: string) =>
      startObjects({ dataDir, port, accessKeyId, secretAccessKey, bucket: 'reports' });
    let objects = await start(0, 'first', 'hush');
    closing.push(() => objects.close());
    const { files, mounted } = follow(Type.Object(S3Settings), { S3_ACCESS_KEY_ID: 'first', S3_SECRET_ACCESS_KEY: 'hush' });
    const identity = openS3Identity({ S3_ENDPOINT: objects.endpoint, S3_BUCKET: 'reports', S3_REGION: 'us-east-1', S3_SESSION_SECONDS: 900 }, { live: files, logger }); // prettier-ignore
    const reports = createReports({ endpoint: objects.endpoint, region: 'us-east-1', bucket: 'reports', identity });
    closing.push(() => reports.close());
    await reports.ping();

    await objects.close();
    objects = await start(Number(new URL(objects.endpoint).port), 'second', 'quiet');
    expect(await reports.ping().catch((error: Error) => error.name)).to.match(/Forbidden|403|Unknown/);
    mounted.write({ S3_ACCESS_KEY_ID: 'second', S3_SECRET_ACCESS_KEY: 'quiet' });
    await eventually('the new key', () => reports.ping().then(() => true).catch(() => false)); // prettier-ignore
    const link = await reports.uploadLink('incoming/a/0/0/report.json', 'application/json', 60);
    expect((await fetch(link, { method: 'PUT', body: '{}', headers: { 'content-type': 'application/json' } })).status).to.equal(200);
    expect(await reports.size('incoming/a/0/0/report.json')).to.equal(2);
  });
});
