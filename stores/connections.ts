/** Opens the connections that both the API and the operator need. */
import type { Static, TObject } from 'typebox';
import { connectKubernetes } from '../platform/kubernetes/connection.ts';
import { createDefinitionCheck } from '../platform/kubernetes/definitions.ts';
import type { KubernetesConnection, SocketUse } from '../platform/kubernetes/kubernetes.ts';
import { createNameServerCheck, hostNamesIn } from '../platform/name-servers.ts';
import { outboundProxyOf } from '../platform/outbound-proxy.ts';
import type { Probe } from '../platform/readiness.ts';
import { fixedSettings } from '../platform/setting-files.ts';
import type { DatabaseSettings, KubernetesSettings, NatsSettings, S3Settings } from '../platform/settings.ts';
import { openDatabase, type DatabaseOptions } from './database.ts';
import { createMessageBus, noMessageBus, type MessageBus } from './nats.ts';
import { createReports, type Reports } from './reports.ts';
import { openS3Identity } from './s3-identity.ts';
import type { AllStores } from './stores.ts';
import { createScheduleResources, type ScheduleResources } from './schedules/schedule-resources.ts';
import { createScanResources, type ScanResources } from './submissions/scan-resources.ts';

type SharedSettings = typeof DatabaseSettings & typeof KubernetesSettings & typeof NatsSettings & typeof S3Settings;

/** The shared settings, and those that only one process has: addresses for pods and callers, and the seed that signs credentials. */
export type ConnectionConfiguration = Readonly<Static<TObject<SharedSettings>>> & {
  readonly NATS_POD_URL?: string;
  readonly NATS_SIGNING_SEED?: string;
  readonly S3_PUBLIC_ENDPOINT?: string;
  readonly S3_POD_ENDPOINT?: string;
};

/** `definitions`: the custom resource definitions of the cluster. `dns`: the name servers, if an address has a name. */
export type DependencyName = 'dns' | 'mongodb' | 'kubernetes' | 'definitions' | 'objects' | 'nats';

export interface ConnectionOptions extends DatabaseOptions {
  /** The dependencies without which a new replica of the process is of no use. */
  required: readonly DependencyName[];
  /** The name of the process in the `managedFields` of Kubernetes objects. */
  fieldManager: string;
  /** Called with the number of open sockets to the Kubernetes API whenever it changes. */
  onSockets?: (use: SocketUse, open: number) => void;
}

export interface Connections {
  stores: AllStores;
  /** The same stores over connections of their own, if `anonymousConnections` is set. */
  anonymousStores: AllStores;
  bus: MessageBus;
  reports: Reports;
  kubernetes: KubernetesConnection;
  scanResources: ScanResources;
  scheduleResources: ScheduleResources;
  /** One probe per server. NATS and name servers are checked only if they are needed. */
  probes: Partial<Record<DependencyName, Probe>>;
  close(): Promise<void>;
}

/** Connects in the background and reconnects to servers that were down. @throws if a setting or the kubeconfig is malformed */
export async function openConnections(config: ConnectionConfiguration, options: ConnectionOptions): Promise<Connections> {
  const { logger, live = fixedSettings(config) } = options;
  const required = (name: DependencyName): boolean => options.required.includes(name);
  const database = openDatabase(config, options);
  const bus = config.NATS_URL
    ? createMessageBus({
        url: live.credential('NATS_URL') ?? config.NATS_URL,
        podUrl: live.credential('NATS_POD_URL'),
        credentialsFile: config.NATS_CREDENTIALS_FILE,
        signingSeed: live.credential('NATS_SIGNING_SEED'),
        logger,
      })
    : noMessageBus();
  live.onChange(['NATS_URL'], () => bus.renew());
  const proxy = outboundProxyOf(live);
  const reports = createReports({
    endpoint: config.S3_ENDPOINT,
    publicEndpoint: config.S3_PUBLIC_ENDPOINT,
    podEndpoint: config.S3_POD_ENDPOINT,
    region: config.S3_REGION,
    bucket: config.S3_BUCKET,
    identity: openS3Identity(config, { live, logger, proxy }),
    proxy,
  });
  live.onChange(['HTTPS_PROXY'], () => reports.renew());
  const { fieldManager, onSockets } = options;
  const kubernetes = connectKubernetes({ kubeconfig: config.KUBECONFIG, fieldManager, onSockets, logger });
  const resources = { namespace: config.CURBCUT_NAMESPACE, operatorClass: config.CURBCUT_CLASS };
  const scanResources = createScanResources(kubernetes, resources);

  const names = hostNamesIn([config.MONGODB_URL, config.S3_ENDPOINT, config.NATS_URL]);

  return {
    stores: database.stores,
    anonymousStores: database.anonymousStores,
    bus,
    reports,
    kubernetes,
    scanResources,
    scheduleResources: createScheduleResources(kubernetes, resources),
    probes: {
      // Never required by itself: it explains why the others are missing.
      ...(names.length > 0 && { dns: { required: false, check: createNameServerCheck(names) } }),
      kubernetes: { required: required('kubernetes'), check: () => scanResources.ping() },
      definitions: { required: required('definitions'), check: createDefinitionCheck(kubernetes) },
      // Includes the indexes, because the uniqueness of keys and namespaces depends on them.
      mongodb: { required: required('mongodb'), check: () => database.prepare() },
      objects: { required: required('objects'), check: () => reports.ping() },
      ...(config.NATS_URL && {
        nats: { required: required('nats'), check: () => (bus.connected ? Promise.resolve() : Promise.reject(new Error('not connected'))) },
      }),
    },
    async close() {
      await Promise.allSettled([bus.close(), kubernetes.close(), database.close()]);
      reports.close();
    },
  };
}
