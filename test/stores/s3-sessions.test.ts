/** Workload identities at the object store: sessions of a token service and of an agent, as AWS documents them. */
import { randomUUID } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect } from 'chai';
import { startObjects, type Objects } from '../../local/objects/objects.ts';
import type { Credentials } from '../../local/objects/signature.ts';
import { fixedSettings } from '../../platform/setting-files.ts';
import { createReports, type Reports } from '../../stores/reports.ts';
import { openS3Identity, secondsUntil, sessionIdentity } from '../../stores/s3-identity.ts';
import { createFakeLogger } from '../support/fake-logger.ts';

const ROLE = 'arn:aws:iam::123456789012:role/curbcut';

describe('sessions at the object store', () => {
  let objects: Objects;
  let sessions: Map<string, Credentials>;
  let service: Server;
  let serviceUrl: string;
  let folder: string;
  let tokenFile: string;
  let asked: Record<string, string>[];
  let validTokens: string[];
  let lengthOf: (requested: number) => number;
  let reports: Reports | null = null;

  const newSession = (seconds: number) => {
    const session = { accessKeyId: `ASIA${randomUUID().slice(0, 8)}`, secretAccessKey: randomUUID(), sessionToken: randomUUID() };
    sessions.set(session.accessKeyId, session);
    return { ...session, expiration: new Date(Date.now() + seconds * 1000).toISOString() };
  };

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'curbcut-sts-'));
    tokenFile = join(folder, 'token');
    objects = await startObjects({ bucket: 'reports', accessKeyId: 'x', secretAccessKey: 'y', session: (id) => sessions.get(id) });
    service = createServer(async (request, response) => {
      if (request.method === 'GET') {
        // The agent of EKS Pod Identity.
        asked.push({ authorization: String(request.headers.authorization) });
        const { accessKeyId, secretAccessKey, sessionToken, expiration } = newSession(lengthOf(0));
        const body = { AccessKeyId: accessKeyId, SecretAccessKey: secretAccessKey, Token: sessionToken, Expiration: expiration };
        return response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
      }
      const fields = Object.fromEntries(new URLSearchParams(await text(request)));
      asked.push(fields);
      response.setHeader('content-type', 'text/xml');
      if (!validTokens.includes(fields['WebIdentityToken']!)) {
        const code = '<Code>InvalidIdentityToken</Code><Message>The token is not accepted.</Message>';
        return response
          .writeHead(400)
          .end(`<ErrorResponse><Error><Type>Sender</Type>${code}</Error><RequestId>1</RequestId></ErrorResponse>`);
      }
      const { accessKeyId, secretAccessKey, sessionToken, expiration } = newSession(lengthOf(Number(fields['DurationSeconds'])));
      response.end(
        `<AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleWithWebIdentityResult><Credentials>` +
          `<AccessKeyId>${accessKeyId}</AccessKeyId><SecretAccessKey>${secretAccessKey}</SecretAccessKey><SessionToken>${sessionToken}</SessionToken>` +
          `<Expiration>${expiration}</Expiration></Credentials></AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>`,
      );
    });
    await new Promise<void>((resolve) => service.listen(0, '127.0.0.1', resolve));
    serviceUrl = `http://127.0.0.1:${(service.address() as AddressInfo).port}`;
  });
  after(async () => {
    await objects.close();
    service.closeAllConnections();
    await new Promise((resolve) => service.close(resolve));
    rmSync(folder, { recursive: true, force: true });
  });
  beforeEach(() => {
    sessions = new Map();
    asked = [];
    validTokens = ['first'];
    lengthOf = (requested) => requested;
    writeFileSync(tokenFile, 'first');
  });
  afterEach(() => reports?.close());

  function open(over: object): { reports: Reports; logger: ReturnType<typeof createFakeLogger> } {
    const logger = createFakeLogger();
    const config = { S3_ENDPOINT: objects.endpoint, S3_BUCKET: 'reports', S3_REGION: 'eu-central-1', S3_SESSION_SECONDS: 3600, ...over };
    const identity = openS3Identity(config, { live: fixedSettings(config), logger });
    reports = createReports({ endpoint: objects.endpoint, region: 'eu-central-1', bucket: 'reports', identity });
    return { reports, logger };
  }
  const role = () => ({ AWS_ROLE_ARN: ROLE, AWS_WEB_IDENTITY_TOKEN_FILE: tokenFile, AWS_ENDPOINT_URL_STS: serviceUrl });
  const put = (link: string) => fetch(link, { method: 'PUT', body: '{}', headers: { 'content-type': 'application/json' } });

  it('exchange the token of a service account for a session, which signs requests and links', async () => {
    const { reports } = open(role());
    await reports.ping();
    expect((await put(await reports.uploadLink('incoming/a', 'application/json', 60))).status).to.equal(200);
    expect(await (await fetch(await reports.readLink('incoming/a', 60))).text()).to.equal('{}');
    expect(await (await fetch(await reports.downloadLink('incoming/a', 'a.json', 60))).text()).to.equal('{}');
    expect(asked).to.have.length(1);
    expect(asked[0]).to.include({
      Action: 'AssumeRoleWithWebIdentity',
      RoleArn: ROLE,
      RoleSessionName: 'curbcut',
      WebIdentityToken: 'first',
      DurationSeconds: '3600',
    });
  });

  it('are renewed before they end, with the token that is then in the file', async () => {
    lengthOf = () => 0;
    const { reports } = open(role());
    await reports.ping();
    sessions.clear();
    validTokens = ['second'];
    writeFileSync(tokenFile, 'second');
    lengthOf = (requested) => requested;
    await reports.ping();
    expect([asked[0], asked.at(-1)].map((request) => request!['WebIdentityToken'])).to.deep.equal(['first', 'second']);
  });

  it('end the links that they sign, so that a link states how long it is really valid', async () => {
    lengthOf = () => 900;
    const { reports } = open(role());
    expect(await reports.linkSeconds(3600)).to.be.within(895, 900);
    const link = new URL(await reports.uploadLink('incoming/a', 'application/json', 3600));
    expect(Number(link.searchParams.get('X-Amz-Expires'))).to.be.within(890, 900);
    expect(asked, 'no other session for the link').to.have.length(1);
  });

  it('report why there is none, without the token', async () => {
    validTokens = [];
    const { reports } = open(role());
    const error = (await reports.ping().catch((reason: unknown) => reason)) as Error;
    expect(error.message).to.equal('The token is not accepted.');
    writeFileSync(tokenFile, '');
    rmSync(tokenFile);
    expect(((await reports.ping().catch((reason: unknown) => reason)) as Error).message).to.include('ENOENT');
  });

  it('come from the agent of EKS Pod Identity too', async () => {
    lengthOf = () => 21_600;
    writeFileSync(tokenFile, 'pod-token');
    const { reports } = open({
      AWS_CONTAINER_CREDENTIALS_FULL_URI: `${serviceUrl}/v1/credentials`,
      AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: tokenFile,
    });
    expect((await put(await reports.uploadLink('incoming/b', 'application/json', 60))).status).to.equal(200);
    expect(asked).to.deep.equal([{ authorization: 'pod-token' }]);
  });
});

describe('sessionIdentity', () => {
  const lasting = (identity: ReturnType<typeof sessionIdentity>, seconds: number) =>
    identity.lasting(seconds).then((key) => key.accessKeyId);
  function world(seconds = 3600) {
    let now = 0;
    let count = 0;
    const state = { down: false, failures: 0 };
    const identity = sessionIdentity(
      async () => {
        if (state.down) throw new Error('down');
        count += 1;
        return { accessKeyId: String(count), secretAccessKey: '', expiration: new Date(now + seconds * 1000) };
      },
      { now: () => now, onFailure: () => (state.failures += 1) },
    );
    return { identity, state, pass: (after: number) => (now += after * 1000) };
  }

  it('is shared by callers at the same time, and used while it lasts long enough', async () => {
    const { identity, pass } = world();
    expect(await Promise.all([lasting(identity, 0), lasting(identity, 60)])).to.deep.equal(['1', '1']);
    pass(3000);
    expect(await lasting(identity, 600)).to.equal('1');
    expect(await lasting(identity, 601)).to.equal('2');
  });

  it('is renewed for a link at most once a minute, and five minutes before its end for any request', async () => {
    const { identity, pass } = world();
    expect(await lasting(identity, 7200)).to.equal('1');
    pass(59);
    expect(await lasting(identity, 7200)).to.equal('1');
    pass(1);
    expect(await lasting(identity, 7200)).to.equal('2');
    pass(3299);
    expect(await lasting(identity, 0)).to.equal('2');
    pass(2);
    expect(await lasting(identity, 0)).to.equal('3');
  });

  it('is used until its end if it cannot be renewed', async () => {
    const { identity, state, pass } = world();
    await lasting(identity, 0);
    state.down = true;
    pass(3599);
    expect(await lasting(identity, 0)).to.equal('1');
    expect(state.failures).to.equal(1);
    pass(1);
    expect(await lasting(identity, 0).catch((error: Error) => error.message)).to.equal('down');
  });

  it('waits for a token service that is down at most once a minute while it lasts', async () => {
    const { identity, state, pass } = world();
    await lasting(identity, 0);
    state.down = true;
    pass(60);
    for (const _ of [1, 2, 3]) expect(await lasting(identity, 3600)).to.equal('1');
    expect(state.failures).to.equal(1);
    pass(60);
    expect(await lasting(identity, 3600)).to.equal('1');
    expect(state.failures).to.equal(2);
    state.down = false;
    pass(60);
    expect(await lasting(identity, 3600)).to.equal('2');
  });

  it('does not end for an access key', () => expect(secondsUntil(undefined, 0)).to.equal(Infinity));
});
