/** The parts of `make test-cluster`, and which of them may run at the same time. */
import { NIGHTLY } from '../support/nightly.ts';

export interface Part {
  files: readonly string[];
  /**
   * The share of the node that its pods need; parts run at the same time if their shares add up to at most 1.
   * - 0: creates no pods that run, or only idle ones. Waits for the API server.
   * - 0.5: runs scanner pods in a namespace of its own and waits for them, without asserting durations.
   * - 1: installs, restarts or measures Deployments, or changes the node. Must run without other scanner pods: those of
   *   the chart have a lower priority and would be preempted on a full node.
   */
  node: 0 | 0.5 | 1;
  /** Whether the part runs pods of the images under test. */
  images: boolean;
  /** Whether it runs only with `NIGHTLY=1`, or if it is named: random kills, outages, other versions, and what takes long to build. */
  nightly?: true;
  /** Whether its files run on the embedded stack too, because that is what they test. */
  embedded?: true;
}

/**
 * Of the operator's tests, a commit runs those that depend on the API server or the controllers of the cluster. The others
 * are about MongoDB, the message bus, mails and the operator's own decisions, and run on the embedded stack.
 */
const OPERATOR = NIGHTLY
  ? ['test/operator/*.test.ts']
  : [
      'test/operator/cluster.test.ts', // what the embedded API lacks
      'test/operator/{validation,schedule-definition}.test.ts', // schemas and CEL rules at the API server
      'test/operator/{manifest,organisations}.test.ts', // field ownership and generations of applied resources
      'test/operator/{good-path,restart}.test.ts', // watches, leases, status and owner references
      'test/operator/{cancel-and-delete,unannounced-results}.test.ts', // finalizers, propagation, garbage collection
      'test/operator/{ends,waiting-jobs}.test.ts', // the Job controller: failed and lost pods, its status
      'test/operator/{kubectl,kstatus,platform-page}.test.ts', // what kubectl, Flux and Argo CD see
    ];

/** Of the whole scans, a commit runs those with pods of every outcome; the others differ in the client. */
const JOURNEY = NIGHTLY
  ? ['test/cluster/team.test.ts', 'test/journey/{traces,whole-scan}.test.ts', 'test/journey/walks/platform-engineer.test.ts']
  : ['test/cluster/team.test.ts', 'test/journey/whole-scan.test.ts', 'test/journey/walks/platform-engineer.test.ts'];

/** In the order in which they are started: the longest first. Each part uses namespaces of its own. */
export const PARTS: Readonly<Record<string, Part>> = {
  // The cluster's own controllers act, but the pods match no node, so they never run.
  operator: { files: OPERATOR, node: 0, images: false },
  // Adds a Node without a kubelet. A DaemonSet would be scheduled to it, so `sandbox` must not run at the same time.
  faults: { files: ['test/cluster/faults.test.ts'], node: 0.5, images: true, nightly: true },
  // Waits most of the time. API, operator and the dependencies that it interrupts run beside the cluster, not on it.
  outages: { files: ['test/cluster/outages.test.ts'], node: 0.5, images: true, nightly: true },
  journey: { files: JOURNEY, node: 0.5, images: true },
  runtime: { files: ['test/runtime/*.test.ts'], node: 0, images: false },
  // One process: its files install and delete the same custom resource definition.
  semantics: { files: ['local/**/kube/{semantics,faults,jobs,watch}.test.ts'], node: 0, images: false, embedded: true },
  try: { files: ['test/cluster/try.test.ts'], node: 0.5, images: true },
  network: { files: ['test/cluster/network.test.ts'], node: 0, images: true },
  apply: { files: ['test/cluster/apply.test.ts'], node: 0, images: false },
  admission: { files: ['test/cluster/admission.test.ts'], node: 0, images: false },
  rbac: { files: ['test/cluster/rbac.test.ts'], node: 0, images: false },
  gitops: { files: ['test/gitops/manifests.test.ts'], node: 0, images: false },
  // One process: they share an installation of the chart.
  chart: { files: ['test/cluster/{chart,people,restart}.test.ts'], node: 1, images: true },
  install: { files: ['test/cluster/install.test.ts'], node: 1, images: true },
  upgrade: { files: ['test/cluster/upgrade.test.ts'], node: 1, images: true, nightly: true },
  // Needs dist/.
  dist: { files: ['test/cluster/dist.test.ts'], node: 1, images: false, nightly: true },
  chaos: { files: ['test/cluster/chaos.test.ts'], node: 1, images: true, nightly: true },
  sandbox: { files: ['test/cluster/sandbox.test.ts'], node: 1, images: true },
};
