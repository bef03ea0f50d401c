/** The API's process: reads its configuration, opens its connections, listens, and closes with grace. */
import { readFileSync } from 'node:fs';
import pino from 'pino';
import { ConfigurationError } from '../platform/configuration.ts';
import { openTracer } from '../platform/open-tracer.ts';
import { createBus, noBus } from '../stores/nats.ts';
import { connectKubernetes } from '../platform/kubernetes/connection.ts';
import { connectMongo, ensureIndexes } from '../stores/mongo.ts';
import { openStores } from '../stores/stores.ts';
import { createReports } from '../stores/reports.ts';
import { createScanResources } from '../stores/submissions/scan-resources.ts';
import { buildApp } from './app.ts';
import { readApiConfiguration, type Configuration } from './config.ts';
import { addProcessMetrics, createMetrics } from './plugins/metrics.ts';
import { createResolver } from '../platform/resolver.ts';

/** Requests that are not finished so long after the signal are cut off: whoever sent it will not wait for ever. */
const CLOSE_WITHIN_MS = 8_000;

function configuration(): Configuration {
  try {
    return readApiConfiguration(process.env);
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    console.error(error.message);
    process.exit(1);
  }
}

const config = configuration();
const logger = pino({ level: config.LOG_LEVEL, base: { process: 'api' } });
const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as { version: string };

const metrics = createMetrics();
addProcessMetrics(metrics);
const tracer = await openTracer({
  endpoint: config.OTEL_EXPORTER_OTLP_ENDPOINT,
  headers: config.OTEL_EXPORTER_OTLP_HEADERS,
  service: 'curbcut-api',
  version,
  logger,
});
const mongo = connectMongo({ url: config.MONGODB_URL, logger });
const bus = config.NATS_URL ? createBus({ url: config.NATS_URL, credentialsFile: config.NATS_CREDENTIALS_FILE, logger }) : noBus();
const reports = createReports({
  endpoint: config.S3_ENDPOINT,
  publicEndpoint: config.S3_PUBLIC_ENDPOINT,
  region: config.S3_REGION,
  bucket: config.S3_BUCKET,
  accessKeyId: config.S3_ACCESS_KEY_ID,
  secretAccessKey: config.S3_SECRET_ACCESS_KEY,
});
const kubernetes = await connectKubernetes({ kubeconfig: config.KUBECONFIG, logger });
const scanResources = createScanResources(kubernetes, { namespace: config.CURBCUT_NAMESPACE });

// The database may come later than this process; whatever the indexes are for is right without them, only slower, but
// for the uniqueness of keys and namespaces, which readiness therefore waits for.
let indexed = false;
const prepare = async (): Promise<void> => {
  if (!indexed) await ensureIndexes(mongo.db);
  indexed = true;
  await mongo.ping();
};

const app = await buildApp(
  {
    stores: {
      ...openStores(mongo.db, { logger, onLimitFallback: metrics.limitsFallback, onCredits: metrics.credits }),
      reports,
      scanResources,
    },
    bus,
    resolver: createResolver(),
    clock: () => new Date(),
    logger,
    metrics,
    tracer,
    probes: {
      mongodb: { required: true, check: prepare },
      kubernetes: { required: true, check: () => scanResources.ping() },
      objects: { required: true, check: () => reports.ping() },
      // Streams fall back to reading the state, so messages are missed but not needed.
      ...(config.NATS_URL && {
        nats: { required: false, check: () => (bus.connected ? Promise.resolve() : Promise.reject(new Error('not connected'))) },
      }),
    },
  },
  {
    publicBaseUrl: config.publicBaseUrl,
    namespace: config.CURBCUT_NAMESPACE,
    targets: config.targets,
    maxPagesLimit: config.MAX_PAGES_LIMIT,
    maxLiveScans: config.MAX_LIVE_SCANS,
    version,
  },
);

let closing = false;
async function close(signal: string): Promise<void> {
  if (closing) return;
  closing = true;
  logger.info({ signal }, 'closing');
  setTimeout(() => {
    logger.warn({}, 'requests were cut off');
    process.exit(1);
  }, CLOSE_WITHIN_MS).unref();
  await app.close();
  await Promise.allSettled([bus.close(), kubernetes.close(), mongo.close(), tracer.close()]);
  reports.close();
  logger.info({}, 'closed');
}
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => void close(signal));

try {
  const address = await app.listen({ host: config.HOST, port: config.PORT });
  logger.info({ address, version }, 'listening');
} catch (error) {
  logger.error({ err: error }, `cannot listen on ${config.HOST}:${config.PORT}`);
  await close('failure to listen');
  process.exitCode = 1;
}
