/**
 * The operator's process: reads its configuration, opens its connections, campaigns for the lease, and closes with grace.
 *
 * What it must be allowed, and no more (rbac.authorization.k8s.io):
 * - curbcut.dev: accessibilityscans get, list, watch, patch, delete; accessibilityscans/status patch;
 *   accessibilityscans/finalizers update (owner references that block deletion)
 * - curbcut.dev, in its own namespace: scanqueues get, list, watch, create; scanqueues/status patch
 * - batch: jobs get, list, watch, create, delete
 * - core: pods list, watch; pods/status patch (a pod on a dead node is declared failed); secrets create;
 *   events list, create, patch
 * - coordination.k8s.io, in its own namespace: leases get, create, update
 */
import { readFileSync } from 'node:fs';
import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import pino from 'pino';
import { ConfigurationError } from '../platform/configuration.ts';
import { openTracer } from '../platform/open-tracer.ts';
import { createResolver } from '../platform/resolver.ts';
import { createBus, noBus } from '../stores/nats.ts';
import { connectKubernetes } from '../platform/kubernetes/connection.ts';
import { connectMongo, ensureIndexes } from '../stores/mongo.ts';
import { openStores } from '../stores/stores.ts';
import { createReports } from '../stores/reports.ts';
import { createScanResources } from '../stores/submissions/scan-resources.ts';
import { readOperatorConfiguration, settingsOf, type Configuration } from './config.ts';
import { serveProbes } from './probe-server.ts';
import { addProcessMetrics, createOperatorMetrics } from './metrics.ts';
import { runOperator } from './operator.ts';

function configuration(): Configuration {
  try {
    return readOperatorConfiguration(process.env);
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    console.error(error.message);
    process.exit(1);
  }
}

const config = configuration();
const logger = pino({ level: config.LOG_LEVEL, base: { process: 'operator' } });

const metrics = createOperatorMetrics();
addProcessMetrics(metrics);
const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as { version: string };
const tracer = await openTracer({
  endpoint: config.OTEL_EXPORTER_OTLP_ENDPOINT,
  headers: config.OTEL_EXPORTER_OTLP_HEADERS,
  service: 'curbcut-operator',
  version,
  logger,
});
const mongo = connectMongo({ url: config.MONGODB_URL, logger });
const bus = config.NATS_URL
  ? createBus({
      url: config.NATS_URL,
      podUrl: config.NATS_POD_URL,
      credentialsFile: config.NATS_CREDENTIALS_FILE,
      signingSeed: config.NATS_SIGNING_SEED,
      logger,
    })
  : noBus();
const reports = createReports({
  endpoint: config.S3_ENDPOINT,
  podEndpoint: config.S3_POD_ENDPOINT,
  region: config.S3_REGION,
  bucket: config.S3_BUCKET,
  accessKeyId: config.S3_ACCESS_KEY_ID,
  secretAccessKey: config.S3_SECRET_ACCESS_KEY,
});
const connection = await connectKubernetes({ kubeconfig: config.KUBECONFIG, logger });
const resources = createScanResources(connection, { namespace: config.CURBCUT_NAMESPACE });

let indexed = false;
async function checkDatabase(): Promise<void> {
  if (!indexed) await ensureIndexes(mongo.db);
  indexed = true;
  await mongo.ping();
}

const stopping = new AbortController();
for (const signal of ['SIGTERM', 'SIGINT'] as const)
  process.once(signal, () => {
    logger.info({ signal }, 'closing');
    stopping.abort();
  });

const server = await serveProbes({
  host: config.HOST,
  port: config.METRICS_PORT,
  metrics: metrics.registry,
  onDependency: metrics.stores.dependency,
  probes: {
    kubernetes: { required: true, check: () => resources.ping() },
    mongodb: { required: true, check: checkDatabase },
    objects: { required: true, check: () => reports.ping() },
    // Without the bus scans end all the same, only later.
    ...(config.NATS_URL && {
      nats: { required: false, check: () => (bus.connected ? Promise.resolve() : Promise.reject(new Error('not connected'))) },
    }),
  },
});
logger.info({ port: server.port }, 'answers probes');

try {
  await runOperator(
    {
      connection,
      stores: openStores(mongo.db, { logger, onCredits: metrics.stores.credits }),
      reports,
      bus,
      resolver: createResolver(),
      settings: settingsOf(config),
      metrics,
      tracer,
      identity: `${hostname()}_${randomUUID()}`,
      logger,
    },
    stopping.signal,
  );
} catch (error) {
  logger.error({ err: error }, 'cannot go on');
  process.exitCode = 1;
} finally {
  await server.close();
  await Promise.allSettled([bus.close(), connection.close(), mongo.close(), tracer.close()]);
  reports.close();
  logger.info({}, 'closed');
}
