/**
 * What a production installation brings itself, on this machine: MongoDB, S3, NATS and mail, and with `tls` also TLS with certificates
 * of a private authority, and a token service. Pods reach them by a name of the cluster, `NAME.NAMESPACE.svc`.
 */
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { startDocuments } from '../../local/documents/documents.ts';
import { startMail } from '../../local/mail/mail.ts';
import { startMessages } from '../../local/messages/messages.ts';
import { startObjects } from '../../local/objects/objects.ts';
import type { Credentials } from '../../local/objects/signature.ts';
import { createAuthority, startTlsFront } from '../support/private-authority.ts';
import { kubectl } from './release.ts';

export const AUDIENCE = 'sts.amazonaws.com';
const SERVICE = 'services';

export interface Services {
  /** The address of this machine, as pods reach it. */
  host: string;
  /** The chart's values for them. */
  values: Record<string, unknown>;
  /** The certificate of their authority; empty without TLS. */
  authority: string;
  /** The users whose tokens were exchanged for sessions at the object store. */
  exchanged: Set<string>;
  inboxUrl: string;
  close(): Promise<void>;
}

/** A headless Service, so that the name of the services leads to this machine. */
const serviceOf = (namespace: string, host: string): object[] => {
  const metadata = { name: SERVICE, namespace };
  return [
    { apiVersion: 'v1', kind: 'Service', metadata, spec: { clusterIP: 'None', ports: [{ port: 1 }] } },
    {
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata: { ...metadata, labels: { 'kubernetes.io/service-name': SERVICE } },
      addressType: 'IPv4',
      endpoints: [{ addresses: [host] }],
      ports: [{ port: 1 }],
    },
  ];
};

/** The user of a service account's token, as the cluster knows it. Null if the token is not valid for the audience. */
async function userOf(token: string): Promise<string | null> {
  const review = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenReview', spec: { token, audiences: [AUDIENCE] } };
  const { status } = JSON.parse(await kubectl(['create', '-f', '-', '-o', 'json'], JSON.stringify(review))) as {
    status: { authenticated?: boolean; user?: { username: string } };
  };
  return status.authenticated === true ? status.user!.username : null;
}

/** Exchanges valid tokens of service accounts for sessions, as `AssumeRoleWithWebIdentity` does. */
async function startTokenService(host: string, sessions: Map<string, Credentials>, exchanged: Set<string>) {
  const server = createServer((request, response) => {
    const answer = async (): Promise<void> => {
      const asked = new URLSearchParams(await text(request));
      const user = await userOf(asked.get('WebIdentityToken') ?? '');
      response.setHeader('content-type', 'text/xml');
      if (user === null) {
        const error = '<Type>Sender</Type><Code>InvalidIdentityToken</Code><Message>The token is not accepted.</Message>';
        return void response.writeHead(400).end(`<ErrorResponse><Error>${error}</Error><RequestId>1</RequestId></ErrorResponse>`);
      }
      exchanged.add(user);
      const session = { accessKeyId: `ASIA${randomUUID().slice(0, 8)}`, secretAccessKey: randomUUID(), sessionToken: randomUUID() };
      sessions.set(session.accessKeyId, session);
      const expiration = new Date(Date.now() + Number(asked.get('DurationSeconds')) * 1000).toISOString();
      response.end(
        `<AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleWithWebIdentityResult><Credentials>` +
          `<AccessKeyId>${session.accessKeyId}</AccessKeyId><SecretAccessKey>${session.secretAccessKey}</SecretAccessKey>` +
          `<SessionToken>${session.sessionToken}</SessionToken><Expiration>${expiration}</Expiration>` +
          `</Credentials></AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>`,
      );
    };
    answer().catch((error: unknown) => response.writeHead(500).end(String(error)));
  });
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  return {
    url: `http://${host}:${(server.address() as AddressInfo).port}`,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** @param options.namespace where the name of the services is created; it must exist */
export async function startServices(options: { namespace: string; folder: string; tls: boolean }): Promise<Services> {
  const { namespace, folder, tls } = options;
  const host = process.env.CURBCUT_CLUSTER_HOST_IP ?? '127.0.0.1';
  const name = `${SERVICE}.${namespace}.svc`;
  const authority = createAuthority('Services');
  const closing: (() => Promise<void>)[] = [];
  const sessions = new Map<string, Credentials>();
  const exchanged = new Set<string>();
  const kept = <T extends { close(): Promise<void> }>(started: T): T => (closing.push(() => started.close()), started);
  /** The port that pods use: with TLS, one in front of that of the server. */
  const portOf = async (address: string, greeting?: (first: string) => string): Promise<number> => {
    const port = Number(new URL(address).port);
    return tls ? kept(await startTlsFront(port, authority.issue([name]), { host, ...(greeting && { greeting }) })).port : port;
  };

  const documents = kept(await startDocuments({ host, dataDir: join(folder, 'documents') }));
  const key = { accessKeyId: 'curbcut-test', secretAccessKey: 'curbcut-test-secret' };
  // With a token service, no one may use the access key of the store.
  const own = tls ? { accessKeyId: randomUUID(), secretAccessKey: randomUUID() } : key;
  const session = (id: string): Credentials | undefined => sessions.get(id);
  const objects = kept(await startObjects({ host, dataDir: join(folder, 'objects'), bucket: 'curbcut', ...own, session }));
  const messages = kept(await startMessages({ host, dataDir: join(folder, 'messages') }));
  const mail = kept(await startMail({ host }));
  const sts = kept(await startTokenService(host, sessions, exchanged));
  await kubectl(['apply', '-f', '-'], JSON.stringify({ apiVersion: 'v1', kind: 'List', items: serviceOf(namespace, host) }));

  const needsTls = (info: string): string => info.replace('{', '{"tls_required":true,');
  const ports = {
    mongodb: await portOf(documents.url),
    s3: await portOf(objects.endpoint),
    nats: await portOf(messages.url, needsTls),
    smtp: await portOf(mail.smtpUrl),
    sts: await portOf(sts.url),
  };
  const peers = [{ ipBlock: { cidr: `${host}/32` } }];
  return {
    host,
    authority: tls ? authority.bundle : '',
    exchanged,
    inboxUrl: mail.inboxUrl,
    values: {
      ...Object.fromEntries(Object.keys(ports).map((part) => [`networkPolicy.${part}.to`, peers])),
      'mongodb.url': `mongodb://${name}:${ports.mongodb}/curbcut?directConnection=true${tls ? '&tls=true' : ''}`,
      's3.endpoint': `http${tls ? 's' : ''}://${name}:${ports.s3}`,
      's3.bucket': 'curbcut',
      'nats.url': `${tls ? 'tls' : 'nats'}://${name}:${ports.nats}`,
      'nats.credentials': await readFile(messages.credentialsFile, 'utf8'),
      'nats.signingSeed': messages.signingSeed,
      'smtp.url': `smtp${tls ? 's' : ''}://${name}:${ports.smtp}`,
      'smtp.from': 'no-reply@curbcut.test',
      ...(tls
        ? {
            's3.workloadIdentity.roleArn': 'arn:aws:iam::123456789012:role/curbcut',
            's3.workloadIdentity.stsEndpoint': `https://${name}:${ports.sts}`,
          }
        : { 's3.accessKeyId': key.accessKeyId, 's3.secretAccessKey': key.secretAccessKey }),
    },
    async close() {
      for (const close of closing.reverse()) await close();
    },
  };
}
