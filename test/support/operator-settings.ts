/** The settings of operators in tests. */
import type { OperatorSettings } from '../../operator/config.ts';

/** The scanner settings in tests. */
const SCANNER: OperatorSettings['scanner'] = {
  image: 'curbcut.test/nowhere:none',
  imagePullPolicy: 'IfNotPresent',
  hostUsers: false,
  pod: { resources: { requests: { cpu: '1m', memory: '1Mi' }, limits: { memory: '64Mi' } } },
  retries: 2,
};

/** Deadlines that tests reach only if they override them. */
export function settingsFor(namespace: string, others: string[]): OperatorSettings {
  return {
    namespace,
    watchNamespaces: [namespace, ...others],
    operatorClass: 'curbcut',
    publicBaseUrl: 'https://curbcut.example.com',
    webhooks: true,
    webhookSecrets: null,
    leaseSeconds: 15,
    scanWorkers: 8,
    maxRunning: 50,
    maxRunningPublic: 2,
    maxPagesLimit: 50,
    maxEndedPerOrganisation: 500,
    targets: { allow: ['site.test'], deny: [] },
    scanner: SCANNER,
    podTemplate: { allow: ['resources', 'nodeSelector'], maxResources: { cpu: '4', memory: '8Gi' } },
    pod: { allowTargets: ['site.test'], denyTargets: [], workers: 2, pageBudgetMs: 30_000, exportMaxBytes: 64_000_000 },
    runTime: { pendingDeadlineSeconds: 600, baseSeconds: 600, maxSeconds: 3600, workers: 2, pageBudgetMs: 30_000 },
    timeouts: {
      queueMs: 3_600_000,
      pendingMs: 600_000,
      roomMs: 600_000,
      stuckMs: 600_000,
      lostPodMs: 500,
      lingerMs: 600_000,
      jobTtlMs: 600_000,
      jobEndGraceMs: 300,
      podStateMs: 100,
      statusEveryMs: 200,
      mirrorEveryMs: 50,
    },
    ingest: { exportMaxBytes: 1_000_000, memoryMib: 256 },
    retentionDays: 90,
    verdictDays: 400,
  };
}
