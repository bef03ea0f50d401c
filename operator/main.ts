/**
 * The operator process: reads the configuration, opens connections, runs the operator and shuts down gracefully.
 * helm/templates/rbac.yaml has its permissions.
 */
import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import closeWithGrace from 'close-with-grace';
import { exitOnMistake } from '../platform/configuration.ts';
import { openTracer } from '../platform/open-tracer.ts';
import { applyOutboundSettings } from '../platform/outbound-proxy.ts';
import { flushed, openLogger } from '../platform/process-logger.ts';
import { serveProbes } from '../platform/probe-server.ts';
import { monitorDependencies } from '../platform/readiness.ts';
import { createResolver } from '../platform/resolver.ts';
import { openSettingFiles, type SettingFiles } from '../platform/setting-files.ts';
import { CURBCUT_VERSION } from '../platform/version.ts';
import { openConnections } from '../stores/connections.ts';
import { addProcessMetrics } from '../stores/process-metrics.ts';
import { Environment, readOperatorConfiguration, settingsOf, type Configuration } from './config.ts';
import { createOperatorMetrics } from './metrics.ts';
import { FIELD_MANAGER, runOperator } from './operator.ts';

/** Longer than the 20 s that running reconciles have to finish, and shorter than the pod's grace period. */
const CLOSE_WITHIN_MS = 28_000;

function configuration(): { config: Configuration; files: SettingFiles } {
  try {
    const files = openSettingFiles(Environment, process.env);
    return { files, config: readOperatorConfiguration(files.environment, files.problems) };
  } catch (error) {
    return exitOnMistake(error);
  }
}

const { config, files } = configuration();
const logger = openLogger({ level: config.LOG_LEVEL, base: { process: 'operator' } });
applyOutboundSettings(files, logger);
const stopFollowing = files.follow(logger);

const metrics = createOperatorMetrics();
addProcessMetrics(metrics);
const tracer = await openTracer({
  endpoint: config.OTEL_EXPORTER_OTLP_ENDPOINT,
  headers: files.credential('OTEL_EXPORTER_OTLP_HEADERS'),
  service: 'curbcut-operator',
  version: CURBCUT_VERSION,
  logger,
});
const connections = await openConnections(config, {
  logger,
  live: files,
  onCredits: metrics.stores.credits,
  onSockets: metrics.stores.sockets,
  fieldManager: FIELD_MANAGER,
  // Without the object store it still starts, cancels and deletes scans.
  required: ['mongodb', 'kubernetes', 'definitions'],
}).catch(exitOnMistake);

const dependencies = monitorDependencies(connections.probes, { logger, onDependency: metrics.stores.dependency });
const server = await serveProbes({
  host: config.HOST,
  port: config.METRICS_PORT,
  metrics: metrics.registry,
  readiness: dependencies.readiness,
});
logger.info({ port: server.port }, 'probe server listening');

const stopping = new AbortController();
// With older definitions it could not record what it does.
const finished = dependencies.available('definitions', stopping.signal).then(() =>
  runOperator(
    {
      connection: connections.kubernetes,
      stores: connections.stores,
      reports: connections.reports,
      bus: connections.bus,
      resolver: createResolver(),
      settings: settingsOf(config, files),
      metrics,
      tracer,
      identity: `${hostname()}_${randomUUID()}`,
      logger,
    },
    stopping.signal,
  ),
);

const closing = closeWithGrace(
  { delay: CLOSE_WITHIN_MS, logger: false, onTimeout: () => logger.warn({}, 'shutdown timed out') },
  async ({ signal, err }) => {
    if (err) logger.error({ err }, 'fatal');
    else logger.info({ signal }, 'closing');
    stopping.abort();
    try {
      await finished;
    } finally {
      dependencies.stop();
      stopFollowing();
      await server.close();
      await Promise.allSettled([connections.close(), tracer.close()]);
      logger.info({}, 'closed');
      await flushed(logger);
    }
  },
);

finished.catch((err: unknown) => {
  logger.error({ err }, 'fatal');
  // The process then exits with 1, because `finished` is rejected.
  if (!stopping.signal.aborted) closing.close();
});
