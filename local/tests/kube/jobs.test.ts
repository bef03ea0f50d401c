/** The Job controller. The test takes the place of the kubelet: it patches the statuses of the pods, on both APIs. */
import { expect } from 'chai';
import { randomUUID } from 'node:crypto';
import { eventually, type Client } from './client.ts';
import { openTargets, type Targets } from './targets.ts';

const NAMESPACE = `jobs-${randomUUID().slice(0, 8)}`;
const PODS = `/api/v1/namespaces/${NAMESPACE}/pods`;
const JOBS = `/apis/batch/v1/namespaces/${NAMESPACE}/jobs`;
const MERGE = { type: 'application/merge-patch+json' };

interface Status {
  active?: number;
  ready?: number;
  succeeded?: number;
  failed?: number;
  terminating?: number;
  startTime?: string;
  completionTime?: string;
  completedIndexes?: string;
  failedIndexes?: string;
  conditions?: { type: string; status: string; reason: string; message: string }[];
}
interface Pod {
  metadata: {
    name: string;
    labels: Record<string, string>;
    annotations?: Record<string, string>;
    finalizers?: string[];
    creationTimestamp: string;
    ownerReferences: object[];
    deletionTimestamp?: string;
  };
  spec: { hostname?: string; containers: { env?: object[] }[] };
  status: { phase: string };
}

/** What every Job of the product has; the embedded controller runs no others. */
const INDEXED = { completionMode: 'Indexed', completions: 1, backoffLimitPerIndex: 1, podReplacementPolicy: 'Failed' };

const INDEX = 'batch.kubernetes.io/job-completion-index';
const FAILURES = 'batch.kubernetes.io/job-index-failure-count';
const IGNORED = 'batch.kubernetes.io/job-index-ignored-failure-count';

/** No scheduler has this name, so that the pods stay pending and the test controls them. */
const template = { spec: { restartPolicy: 'Never', schedulerName: 'nobody', containers: [{ name: 'c', image: 'x' }] } };
const ended = (exitCode: number, more: object = {}): object => ({
  phase: exitCode === 0 ? 'Succeeded' : 'Failed',
  containerStatuses: [
    {
      name: 'c',
      image: 'x',
      imageID: '',
      ready: false,
      restartCount: 0,
      state: { terminated: { exitCode, reason: exitCode === 0 ? 'Completed' : 'Error' } },
    },
  ],
  ...more,
});
const running = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] };

/** The Job of a test. */
interface Trial {
  status(): Promise<Status>;
  /** Polls for a status. A real cluster's back-off takes ten seconds. */
  until(what: string, holds: (status: Status) => boolean): Promise<Status>;
  /** Oldest first. */
  pods(): Promise<Pod[]>;
  /** Waits for a pod that has not ended. */
  livePod(): Promise<Pod>;
  report(pod: Pod, status: object): Promise<void>;
  patch(body: object): Promise<void>;
  /** Waits for this number of events, which a real cluster writes after the status, and returns all, sorted. */
  events(count: number): Promise<string[]>;
  call: Client['call'];
}

async function trialOf({ call }: Client, name: string, spec: object): Promise<Trial> {
  const made = await call('POST', JOBS, { metadata: { name }, spec: { template, ...INDEXED, ...spec } });
  expect(made.code, made.text).to.equal(201);
  const status = async (): Promise<Status> => (await call('GET', `${JOBS}/${name}`)).body['status'] as Status;
  const pods = async (): Promise<Pod[]> => {
    const { body } = await call('GET', `${PODS}?labelSelector=${encodeURIComponent(`batch.kubernetes.io/job-name=${name}`)}`);
    return (body['items'] as Pod[]).sort((a, b) => a.metadata.creationTimestamp.localeCompare(b.metadata.creationTimestamp));
  };
  return {
    status,
    pods,
    call,
    async until(what, holds) {
      const deadline = Date.now() + 30_000;
      for (;;) {
        const now = await status();
        if (holds(now)) return now;
        if (Date.now() > deadline) throw new Error(`${name}: expected ${what}, got ${JSON.stringify(now)}`);
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    },
    livePod: () =>
      eventually('a live pod', async () =>
        (await pods()).find((pod) => pod.status.phase === 'Pending' && pod.metadata.deletionTimestamp === undefined),
      ),
    async report(pod, next) {
      expect((await call('PATCH', `${PODS}/${pod.metadata.name}/status`, { status: next }, MERGE)).code).to.equal(200);
    },
    async patch(body) {
      expect((await call('PATCH', `${JOBS}/${name}`, body, MERGE)).code).to.equal(200);
    },
    events: (count) =>
      eventually(`${count} events`, async () => {
        const { body } = await call('GET', `/api/v1/namespaces/${NAMESPACE}/events?fieldSelector=involvedObject.name%3D${name}`);
        const events = (body['items'] as { type: string; reason: string }[]).map((event) => `${event.type} ${event.reason}`);
        return events.length < count ? undefined : events.sort();
      }),
  };
}

const has =
  (type: string) =>
  (status: Status): boolean =>
    status.conditions?.some((condition) => condition.type === type && condition.status === 'True') === true;
const said = (status: Status): string[] =>
  (status.conditions ?? []).map(({ type, status: truth, reason, message }) => `${type} ${truth} ${reason}: ${message}`);

/** Waits for the pod that replaces a failed one: on a real cluster 10 s, and 20 s the next time. */
async function nextPod(job: Trial): Promise<Pod> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await job.livePod();
    } catch (error) {
      if (tries === 3) throw error;
    }
  }
}

const scenarios: Record<string, (client: Client) => Promise<void>> = {
  async completes(client) {
    const job = await trialOf(client, 'completes', {});
    const begun = await job.until('a pod', ({ active }) => active === 1);
    expect(begun).to.deep.include({ active: 1, ready: 0, terminating: 0, uncountedTerminatedPods: {} });
    const pod = await job.livePod();
    expect(pod.metadata.name).to.match(/^completes-0-[a-z0-9]{5}$/);
    expect(pod.metadata.annotations).to.deep.equal({ [INDEX]: '0', [FAILURES]: '0' });
    expect(pod.spec.hostname).to.equal('completes-0');
    expect(pod.spec.containers[0]!.env).to.deep.equal([
      { name: 'JOB_COMPLETION_INDEX', valueFrom: { fieldRef: { apiVersion: 'v1', fieldPath: `metadata.labels['${INDEX}']` } } },
    ]);
    expect(pod.metadata.labels).to.have.all.keys(
      'batch.kubernetes.io/controller-uid',
      INDEX,
      'batch.kubernetes.io/job-name',
      'controller-uid',
      'job-name',
    );
    expect(pod.metadata.finalizers).to.deep.equal(['batch.kubernetes.io/job-tracking']);
    expect(pod.metadata.ownerReferences).to.have.nested.property('[0].blockOwnerDeletion', true);
    await job.report(pod, running);
    await job.until('readiness', ({ ready }) => ready === 1);
    await job.report(pod, ended(0));
    const status = await job.until('the end', has('Complete'));
    expect(said(status)).to.deep.equal([
      'SuccessCriteriaMet True CompletionsReached: Reached expected number of succeeded pods',
      'Complete True CompletionsReached: Reached expected number of succeeded pods',
    ]);
    expect(status).to.include({ succeeded: 1, completedIndexes: '0', ready: 0, terminating: 0 }).and.have.property('completionTime');
    expect(status).not.to.have.any.keys('active', 'failed');
    expect((await job.pods())[0]?.metadata.finalizers).to.equal(undefined);
    expect(await job.events(2)).to.deep.equal(['Normal Completed', 'Normal SuccessfulCreate']);
  },

  async 'applies its pod failure policy, also before the limit of its index'(client) {
    const rules = [
      { action: 'Ignore', onPodConditions: [{ type: 'DisruptionTarget' }] },
      { action: 'FailJob', onExitCodes: { containerName: 'c', operator: 'In', values: [42] } },
    ];
    const job = await trialOf(client, 'policy', { backoffLimitPerIndex: 2, podFailurePolicy: { rules } });
    await job.report(await job.livePod(), ended(137, { conditions: [{ type: 'DisruptionTarget', status: 'True' }] }));
    const pod = await nextPod(job);
    expect((await job.status()).failed).to.equal(undefined);
    await job.report(pod, ended(42));
    const status = await job.until('the end', has('Failed'));
    const message = `Container c for pod ${NAMESPACE}/${pod.metadata.name} failed with exit code 42 matching FailJob rule at index 1`;
    expect(said(status)).to.deep.equal([`FailureTarget True PodFailurePolicy: ${message}`, `Failed True PodFailurePolicy: ${message}`]);
    expect(status.failed).to.equal(1);
  },

  async 'retries its index up to the limit and counts the attempts in annotations'(client) {
    const rules = [{ action: 'Ignore', onPodConditions: [{ type: 'DisruptionTarget' }] }];
    const job = await trialOf(client, 'retried', { podFailurePolicy: { rules } });
    const first = await job.livePod();
    await job.report(first, ended(137, { conditions: [{ type: 'DisruptionTarget', status: 'True' }] }));
    const second = await nextPod(job);
    expect(second.metadata.annotations).to.deep.equal({ [INDEX]: '0', [FAILURES]: '0', [IGNORED]: '1' });
    await job.report(second, ended(1));
    const third = await nextPod(job);
    expect(third.metadata.annotations).to.deep.equal({ [INDEX]: '0', [FAILURES]: '1', [IGNORED]: '1' });
    await job.until('a count', ({ failed }) => failed === 1);
    await job.report(third, ended(1));
    const status = await job.until('the end', has('Failed'));
    expect(said(status)).to.deep.equal([
      'FailureTarget True FailedIndexes: Job has failed indexes',
      'Failed True FailedIndexes: Job has failed indexes',
    ]);
    expect(status).to.include({ failed: 2, failedIndexes: '0' });
    await eventually('every pod to be released', async () =>
      (await job.pods()).every(({ metadata }) => metadata.finalizers === undefined) ? true : undefined,
    );
  },

  async 'keeps the failed pod of an index until it is replaced'(client) {
    const job = await trialOf(client, 'kept', {});
    const first = await job.livePod();
    await job.report(first, ended(1));
    await client.call('DELETE', `${PODS}/${first.metadata.name}?gracePeriodSeconds=0`);
    const second = await nextPod(job);
    expect(second.metadata.annotations).to.include({ [FAILURES]: '1' });
    await eventually('the first pod to go', async () => ((await job.pods()).length === 1 ? true : undefined));
  },

  async 'fails at its deadline'(client) {
    const job = await trialOf(client, 'deadline', { activeDeadlineSeconds: 1 });
    await job.until('the deadline', has('FailureTarget'));
    // A real cluster removes a pod that no kubelet has. Here the test ends it, if it is still there.
    for (const pod of await job.pods()) await client.call('PATCH', `${PODS}/${pod.metadata.name}/status`, { status: ended(137) }, MERGE);
    const status = await job.until('the end', has('Failed'));
    expect(said(status)).to.deep.equal([
      'FailureTarget True DeadlineExceeded: Job was active longer than specified deadline',
      'Failed True DeadlineExceeded: Job was active longer than specified deadline',
    ]);
    expect(await job.pods()).to.deep.equal([]);
    expect(await job.events(3)).to.deep.equal(['Normal SuccessfulCreate', 'Normal SuccessfulDelete', 'Warning DeadlineExceeded']);
  },

  async 'is created suspended, and resumed'(client) {
    const job = await trialOf(client, 'suspended', { suspend: true });
    const held = await job.until('suspension', has('Suspended'));
    expect(held).not.to.have.any.keys('startTime', 'active');
    await job.patch({ spec: { suspend: false } });
    const resumed = await job.until('a pod', ({ active }) => active === 1);
    expect(said(resumed)).to.deep.equal(['Suspended False JobResumed: Job resumed']);
  },

  async 'replaces a terminating pod only after it has ended'(client) {
    const job = await trialOf(client, 'patient', {});
    const pod = await job.livePod();
    await client.call(
      'PATCH',
      `${PODS}/${pod.metadata.name}`,
      { metadata: { finalizers: ['test.test/hold', ...(pod.metadata.finalizers ?? [])] } },
      MERGE,
    );
    await client.call('DELETE', `${PODS}/${pod.metadata.name}`);
    // A real cluster ends a pod that no kubelet has within 20 seconds, perhaps before the first look.
    const waiting = await job.until('the wait', ({ terminating, failed }) => terminating === 1 || failed === 1);
    if (waiting.failed === undefined) expect(waiting).not.to.have.any.keys('active');
    await job.report(pod, ended(143));
    await job.until('a count', ({ failed }) => failed === 1);
    await job.until('another pod', ({ active }) => active === 1);
    await client.call('PATCH', `${PODS}/${pod.metadata.name}`, { metadata: { finalizers: null } }, MERGE);
  },

  async 'deletes its pods with itself'(client) {
    for (const propagationPolicy of ['Background', 'Foreground']) {
      const name = propagationPolicy.toLowerCase();
      const job = await trialOf(client, name, {});
      await job.livePod();
      await client.call('DELETE', `${JOBS}/${name}`, { propagationPolicy });
      await eventually(`${name} to be deleted with its pod`, async () =>
        (await job.pods()).length === 0 && (await client.call('GET', `${JOBS}/${name}`)).code === 404 ? true : undefined,
      );
    }
  },
};

describe('Job controller', () => {
  let targets: Targets;
  before(async () => {
    targets = await openTargets(NAMESPACE, { jobBackoffMs: 100 });
  });
  after(() => targets.close());

  for (const [name, run] of Object.entries(scenarios)) {
    it(name, () => run(targets.embedded));
    if (process.env.KUBECONFIG) it(`${name}, on a real cluster`, () => run(targets.real!));
  }
});
