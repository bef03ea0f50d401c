/** The API's process: reads its configuration, opens its connections, listens, and shuts down gracefully. */
import closeWithGrace from 'close-with-grace';
import { exitOnMistake } from '../platform/configuration.ts';
import { openTracer } from '../platform/open-tracer.ts';
import { applyOutboundSettings } from '../platform/outbound-proxy.ts';
import { flushed, openLogger } from '../platform/process-logger.ts';
import { serveProbes, type ProbeServer } from '../platform/probe-server.ts';
import { monitorDependencies } from '../platform/readiness.ts';
import { createResolver } from '../platform/resolver.ts';
import { openSettingFiles, type SettingFiles } from '../platform/setting-files.ts';
import { CURBCUT_VERSION } from '../platform/version.ts';
import { openConnections } from '../stores/connections.ts';
import { buildApp } from './app.ts';
import { Environment, outboxSettingsOf, readApiConfiguration, settingsOf, type Configuration } from './config.ts';
import { addProcessMetrics } from '../stores/process-metrics.ts';
import { createMetrics } from './metrics.ts';
import { runOutbox } from './outbox/outbox.ts';
import { listenAddress } from '../platform/listen.ts';

/** Requests that are unfinished after this time are aborted. Longer than the outbox waits for its deliveries, and shorter than the pod's grace period. */
const CLOSE_WITHIN_MS = 18_000;
/** How long a new replica waits for the dependencies that only some endpoints need. */
const START_MS = 10_000;
/** Connections to MongoDB for requests without a valid key or session. They can wait only for each other. */
const ANONYMOUS_CONNECTIONS = 4;

function configuration(): { config: Configuration; files: SettingFiles } {
  try {
    const files = openSettingFiles(Environment, process.env);
    return { files, config: readApiConfiguration(files.environment, files.problems) };
  } catch (error) {
    return exitOnMistake(error);
  }
}

const { config, files } = configuration();
const logger = openLogger({ level: config.LOG_LEVEL, base: { process: 'api' } });
applyOutboundSettings(files, logger);
const stopFollowing = files.follow(logger);

const metrics = createMetrics();
addProcessMetrics(metrics);
const tracer = await openTracer({
  endpoint: config.OTEL_EXPORTER_OTLP_ENDPOINT,
  headers: files.credential('OTEL_EXPORTER_OTLP_HEADERS'),
  service: 'curbcut-api',
  version: CURBCUT_VERSION,
  logger,
});
const connections = await openConnections(config, {
  logger,
  live: files,
  onLimitFallback: metrics.limitsFallback,
  onCredits: metrics.credits,
  onSockets: metrics.sockets,
  fieldManager: 'curbcut-api',
  // Polling needs nothing else: without the others, the endpoints that need them answer 503.
  required: ['mongodb'],
  anonymousConnections: ANONYMOUS_CONNECTIONS,
}).catch(exitOnMistake);

const resolver = createResolver();
const { reports, scanResources, scheduleResources } = connections;
const app = await buildApp(
  {
    stores: { ...connections.stores, reports, scanResources, scheduleResources },
    anonymousStores: { ...connections.anonymousStores, reports, scanResources, scheduleResources },
    bus: connections.bus,
    resolver,
    now: () => new Date(),
    logger,
    metrics,
    tracer,
  },
  settingsOf(config, files),
);

const dependencies = monitorDependencies(connections.probes, { logger, onDependency: metrics.dependency, startMs: START_MS });
let probes: ProbeServer | undefined;

const stopping = new AbortController();
const outbox = dependencies
  .available('mongodb', stopping.signal)
  .then(() =>
    runOutbox(
      { stores: connections.stores, reports, resolver, settings: outboxSettingsOf(config, files), metrics, logger },
      stopping.signal,
    ),
  );

async function close(): Promise<void> {
  stopping.abort();
  await Promise.allSettled([app.close(), outbox]);
  // After the app: the last requests are counted too.
  await probes?.close();
  dependencies.stop();
  stopFollowing();
  await Promise.allSettled([connections.close(), tracer.close()]);
  logger.info({}, 'closed');
  await flushed(logger);
}

closeWithGrace(
  { delay: CLOSE_WITHIN_MS, logger: false, onTimeout: () => logger.warn({}, 'shutdown timed out, unfinished requests were aborted') },
  async ({ signal, err }) => {
    if (err) logger.error({ err }, 'fatal');
    else logger.info({ signal }, 'closing');
    await close();
  },
);

try {
  probes = await serveProbes({
    host: config.HOST,
    port: config.METRICS_PORT,
    metrics: metrics.registry,
    readiness: dependencies.readiness,
  });
  logger.info({ port: probes.port }, 'probe server listening');
  const address = await app.listen({ host: await listenAddress(config.HOST), port: config.PORT });
  logger.info({ address, version: CURBCUT_VERSION }, 'listening');
} catch (error) {
  logger.error(
    { err: error },
    probes ? `cannot listen on ${config.HOST}:${config.PORT}` : `cannot listen on ${config.HOST}:${config.METRICS_PORT}`,
  );
  await close();
  process.exit(1);
}
