/**
 * The evaluation's process: documents, objects, messages, mails and the demo site in one pod, so that the chart installs a whole
 * product on an empty cluster. The documents have no authentication and the data disappear with their volume.
 */
import { createServer } from 'node:http';
import { join } from 'node:path';
import pino from 'pino';
import { ConfigurationError, readConfiguration } from '../../platform/configuration.ts';
import { connectKubernetes } from '../../platform/kubernetes/connection.ts';
import { ensureDemoOrganisation } from '../demo-organisation.ts';
import { startDemoSite } from '../../demo-site/server.ts';
import { startDocuments } from '../documents/documents.ts';
import { startMail } from '../mail/mail.ts';
import { startMessages } from '../messages/messages.ts';
import { startObjects } from '../objects/objects.ts';
import { loadOrCreateSecret } from '../secret.ts';
import { API_KEY_FILE, changesOf, Environment, keepKey, PASSWORD_FILE, restoreFiles, type SecretData } from './secrets.ts';
import { listenAddress } from '../../platform/listen.ts';

const SECRETS = { group: '', version: 'v1', plural: 'secrets' };

function configuration() {
  try {
    return readConfiguration(Environment, process.env);
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    console.error(error.message);
    process.exit(1);
  }
}

const config = configuration();
const logger = pino({ base: { process: 'evaluation' } });
const dataDir = config.DATA_DIR;
const host = await listenAddress(config.HOST);
const kubernetes = connectKubernetes({ kubeconfig: config.KUBECONFIG, logger });
const secret = kubernetes.path(SECRETS, config.POD_NAMESPACE, config.EVALUATION_SECRET);

const closers: (() => Promise<unknown>)[] = [() => kubernetes.close()];
let closing = false;
async function close(): Promise<void> {
  if (closing) return;
  closing = true;
  for (const end of closers.reverse()) await end();
  logger.info('closed');
}
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => void close());

try {
  const { data = {} } = await kubernetes.request<{ data?: SecretData }>('GET', secret);
  restoreFiles(dataDir, data);

  const documents = await startDocuments({ host, port: config.DOCUMENTS_PORT, dataDir: join(dataDir, 'documents') });
  closers.push(() => documents.close());
  const messages = await startMessages({ host, port: config.MESSAGES_PORT, dataDir: join(dataDir, 'messages') });
  closers.push(() => messages.close());
  const objects = await startObjects({
    host,
    port: config.OBJECTS_PORT,
    dataDir: join(dataDir, 'objects'),
    accessKeyId: 'curbcut-evaluation',
    secretAccessKey: await loadOrCreateSecret(join(dataDir, 'objects.secret')),
    bucket: 'curbcut',
  });
  closers.push(() => objects.close());
  const mail = await startMail({ host, smtpPort: config.SMTP_PORT, httpPort: config.INBOX_PORT });
  closers.push(() => mail.close());
  const demo = await startDemoSite({ host, port: config.DEMO_PORT });
  closers.push(() => demo.close());

  const { key: apiKey, password } = await ensureDemoOrganisation({
    environment: { ...process.env, MONGODB_URL: `mongodb://127.0.0.1:${config.DOCUMENTS_PORT}/?directConnection=true` },
    environmentFile: join(dataDir, API_KEY_FILE),
    passwordFile: join(dataDir, PASSWORD_FILE),
    namespace: config.CURBCUT_NAMESPACE,
    keyName: 'evaluation',
  });
  keepKey(dataDir, apiKey);
  if (password === null) logger.info({}, 'the demo user has another password than the Secret');
  const changes = changesOf(dataDir, { apiKey, ...messages }, data);
  if (Object.keys(changes).length > 0) {
    await kubernetes.request('PATCH', secret, { contentType: 'application/merge-patch+json', body: { data: changes } });
    logger.info({ secret: config.EVALUATION_SECRET, keys: Object.keys(changes) }, 'updated the Secret');
  }

  // Become ready only now: API and operator wait for readiness and need the Secret.
  const probes = createServer((_, response) => response.end('ready\n'));
  await new Promise<void>((resolve, reject) => probes.once('error', reject).listen(config.PROBE_PORT, host, resolve));
  closers.push(() => new Promise((resolve) => probes.close(resolve)));
  logger.warn('for evaluation only: the document store has no authentication, and the data disappear with their volume');
} catch (error) {
  logger.error({ err: error }, 'fatal');
  process.exitCode = 1;
  await close();
}
