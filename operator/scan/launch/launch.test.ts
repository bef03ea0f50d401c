import { expect } from 'chai';
import { contextOf } from '../../../test/support/operator-context.ts';
import { NOW, SCAN_ID, ago, condition, scanWith } from '../../../test/support/scan-samples.ts';
import { scanRow } from '../../../test/support/scan-rows.ts';
import { KubernetesError, type KubernetesConnection } from '../../../platform/kubernetes/kubernetes.ts';
import type { AccessibilityScan } from '../../../core/protocol/custom-resources.ts';
import type { PodInput } from '../../../core/protocol/pod-messages.ts';
import type { Organisation } from '../../../core/organisation.ts';
import { createChildren } from './children.ts';
import { launch } from './launch.ts';

interface Stored {
  kind: string;
  metadata: { name: string; uid: string; creationTimestamp: string; ownerReferences: { kind: string; uid: string; controller: boolean }[] };
  spec: { suspend: boolean; template: { spec: { volumes: { name: string; secret: { secretName: string } }[] } } };
  data: Record<string, string>;
}

const JOB = `scan-${SCAN_ID}`;
const SCAN = scanWith({
  phase: 'queued',
  pages: { requested: 5, reserved: 5, scanned: 0, failed: 0 },
  conditions: [condition('Admitted', 'True', 'Admitted')],
});

/** The time by which the clock of the API server is behind. */
const BEHIND_SECONDS = 7;

/** A launcher over an API server that fails the requests for which `failure` returns an error. */
function launcherOver(
  failure: (request: string) => KubernetesError | undefined = () => undefined,
  known?: PodInput['knownIssues'],
  sessionSeconds = Infinity,
  organisation: Organisation | null = null,
) {
  const asked: string[][] = [];
  const requests: string[] = [];
  const secrets: Stored[] = [];
  const helpers: Stored[] = [];
  let job: Stored | null = null;
  let jobs = 0;
  const serve = (method: string, body?: Stored): unknown => {
    if (body?.kind === 'Secret') return secrets.push(body);
    if (method === 'POST' && body!.metadata.name !== JOB) return helpers.push(body!);
    if (method === 'POST' && job !== null) throw new KubernetesError(409, 'AlreadyExists', 'exists');
    if (method === 'POST') {
      jobs += 1;
      return (job = { ...body!, metadata: { ...body!.metadata, uid: `job-${jobs}`, creationTimestamp: ago(BEHIND_SECONDS) } });
    }
    if (method === 'PATCH') job = { ...job!, spec: { ...job!.spec, ...body!.spec } };
    const found = job;
    if (method === 'DELETE') job = null;
    return found;
  };
  const connection = {
    path: (resource: { plural: string }) => resource.plural,
    async request(method: string, path: string, { body }: { body?: Stored } = {}) {
      const request = `${method} ${path}`;
      requests.push(request);
      const error = failure(request);
      if (error !== undefined) throw error;
      return serve(method, body);
    },
  } as unknown as KubernetesConnection;
  const context = contextOf({
    connection,
    children: createChildren(connection),
    stores: {
      scans: { find: async () => scanRow({ id: SCAN_ID }) },
      organisations: { find: async () => organisation },
      knownIssues: {
        async choose(scanId, organisation, sites) {
          asked.push([scanId, organisation, ...sites]);
          return known;
        },
      },
    },
    reports: {
      linkSeconds: async (seconds) => Math.min(seconds, sessionSeconds),
      uploadLink: async () => 'https://store.test/',
      readLink: async (key) => `https://store.test/${key}`,
    },
    bus: {
      issueScanCredential: () => null,
      issueTeam: (_scan, pods) =>
        Array.from({ length: pods }, (_, index) => ({ index, pods, url: 'nats://bus.test', subject: 'team.one', jwt: '', seed: '' })),
    },
    recorder: { event: () => undefined },
    settings: {
      scanner: { image: 'scanner:1', imagePullPolicy: 'Always', hostUsers: false, pod: {}, retries: 0 },
      pod: { allowTargets: [], denyTargets: [], workers: 1, pageBudgetMs: 1000, exportMaxBytes: 64_000_000 },
      runTime: { pendingDeadlineSeconds: 60, baseSeconds: 60, maxSeconds: 600, workers: 1, pageBudgetMs: 1000 },
    },
  });
  const launchIt = (scan = SCAN) => launch(context, scan, SCAN_ID, NOW, new AbortController().signal);
  return { requests, secrets, helpers, asked, launch: launchIt, job: () => job };
}

const rejection = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => null,
    (error: unknown) => error,
  );
const LAUNCH = ['POST jobs', 'POST secrets', 'PATCH jobs'];

describe('the launch of a scan', () => {
  it('gives the Secret to a suspended Job, and resumes the Job afterwards', async () => {
    const { requests, secrets, launch, job } = launcherOver();
    expect(await launch()).to.have.property('ok', true);
    expect(requests).to.deep.equal(LAUNCH);
    const [secret] = secrets as [Stored];
    expect(secret.metadata.name).to.match(new RegExp(`^scan-${SCAN_ID}-[0-9a-f]{32}$`));
    expect(secret.metadata.ownerReferences).to.have.length(1);
    expect(secret.metadata.ownerReferences[0]).to.include({ kind: 'Job', uid: 'job-1', controller: true });
    expect(job()!.spec.template.spec.volumes.find(({ name }) => name === 'input')!.secret.secretName).to.equal(secret.metadata.name);
    expect(job()!.spec.suspend).to.equal(false);
  });

  it('creates a Job with a Secret of its own for each further pod, and does without those that the cluster refuses', async () => {
    const withPods = { ...SCAN, status: { ...SCAN.status, pods: 3 } };
    const { requests, secrets, helpers, launch, job } = launcherOver();
    expect(await launch(withPods)).to.include({ ok: true, pods: 3 });
    const further = ['POST secrets', 'POST jobs'];
    expect(requests).to.deep.equal(['POST jobs', 'POST secrets', 'PATCH jobs', ...further, ...further]);
    const inputs = secrets.map(({ data }) => JSON.parse(Buffer.from(data['scan.json']!, 'base64').toString()) as PodInput);
    expect(inputs.map(({ team, uploads }) => [team?.index, uploads.length > 0])).to.deep.equal([[0, true], [1, false], [2, false]]); // prettier-ignore
    expect(inputs.map(({ cancelMark }) => cancelMark !== undefined)).to.deep.equal([true, false, false]);
    for (const [at, { metadata, spec }] of helpers.entries()) {
      expect(metadata.ownerReferences[0]).to.include({ kind: 'Job', uid: job()!.metadata.uid });
      expect(spec.template.spec.volumes.find(({ name }) => name === 'input')!.secret.secretName).to.equal(secrets[at + 1]!.metadata.name);
    }
    for (const error of [new KubernetesError(403, 'Forbidden', 'exceeded quota: scans'), new KubernetesError(500, 'InternalError', '')]) {
      const refusing = launcherOver((request) => (request === 'POST jobs' && refusing.requests.length > 1 ? error : undefined));
      expect(await refusing.launch(withPods)).to.include({ ok: true, pods: 1 });
      expect(refusing.job()!.spec.suspend).to.equal(false);
      expect(refusing.helpers).to.deep.equal([]);
    }
  });

  it('ends the pod earlier if its links do, and leaves it at least half of the time for its pages', async () => {
    const secondsOf = async (sessionSeconds: number) => {
      const { secrets, launch } = launcherOver(undefined, undefined, sessionSeconds);
      await launch();
      const input = JSON.parse(Buffer.from(secrets[0]!.data['scan.json']!, 'base64').toString()) as PodInput;
      return [input.deadline, input.uploadDeadline].map((time) => (Date.parse(time) - NOW.getTime()) / 1000);
    };
    const pages = 125 - BEHIND_SECONDS;
    expect(await secondsOf(7200)).to.deep.equal([pages, pages + 1200]);
    // The links are valid for a minute longer than the pod may upload.
    expect(await secondsOf(1360)).to.deep.equal([pages, 1300]);
    expect(await secondsOf(1361 - 1200)).to.deep.equal([50.5, 101]);
  });

  it('gives the pod a link to the report of the baseline, or says why there is none', async () => {
    const inputWith = async (baseline: NonNullable<AccessibilityScan['status']>['baseline']) => {
      const { secrets, launch } = launcherOver();
      await launch({ ...SCAN, status: { ...SCAN.status, baseline } });
      return (JSON.parse(Buffer.from(secrets[0]!.data['scan.json']!, 'base64').toString()) as PodInput).baseline;
    };
    expect(await inputWith(undefined)).to.equal(undefined);
    expect(await inputWith({ scanId: 'main', optional: true })).to.deep.equal({
      scanId: 'main',
      optional: true,
      export: 'https://store.test/scans/main/report.json',
    });
    const without = { scanId: 'main', optional: false, problem: 'not_stored' } as const;
    expect(await inputWith(without)).to.deep.equal(without);
  });

  it('gives the pod the known issues of the site, and those of the site that a preview is compared with', async () => {
    const known = { at: NOW.toISOString(), issues: [], leftOut: 1 };
    const { secrets, asked, launch } = launcherOver(undefined, known);
    await launch({ ...SCAN, spec: { ...SCAN.spec, baseline: { metadata: { branch: 'main' }, site: 'www.example.org' } } });
    const input = JSON.parse(Buffer.from(secrets[0]!.data['scan.json']!, 'base64').toString()) as PodInput;
    expect(input.knownIssues).to.deep.equal(known);
    expect(asked).to.deep.equal([[SCAN_ID, scanRow().organisation, new URL(SCAN.spec.url).host, 'www.example.org']]);
  });

  it('gives the pod the name of the organisation, and none of a public scan', async () => {
    const namesFor = async (organisation: Organisation | null): Promise<unknown> => {
      const { secrets, launch } = launcherOver(undefined, undefined, Infinity, organisation);
      await launch();
      return (JSON.parse(Buffer.from(secrets[0]!.data['scan.json']!, 'base64').toString()) as PodInput).organisation;
    };
    expect(await namesFor({ displayName: 'Town Library' } as Organisation)).to.equal('Town Library');
    expect(await namesFor(null)).to.equal(undefined);
  });

  it('never resumes the Job of a Secret that exists already, which anybody may have created', async () => {
    const taken = new KubernetesError(409, 'AlreadyExists', 'exists');
    const { requests, launch, job } = launcherOver((request) => (request === 'POST secrets' ? taken : undefined));
    expect(await rejection(launch())).to.equal(taken);
    expect(requests).to.deep.equal(['POST jobs', 'POST secrets', 'DELETE jobs']);
    expect(job()).to.equal(null);
  });

  const DENIED: [string, number, string, string][] = [
    ['RBAC', 403, 'jobs.batch is forbidden: User "system:serviceaccount:curbcut:curbcut-operator" cannot create resource "jobs"', 'retry'],
    ['a quota', 403, 'jobs.batch "x" is forbidden: exceeded quota: tight', 'retry'],
    ['a webhook', 400, 'admission webhook "policy.example.com" denied the request: no', 'retry'],
    ['a policy', 422, `jobs.batch "x" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no`, 'retry'],
    [
      'a webhook that is down',
      500,
      'Internal error occurred: failed calling webhook "policy.example.com": context deadline exceeded',
      'retry',
    ],
    ['its schema', 422, 'Job.batch "x" is invalid: spec.template.spec.tolerations[0].operator: Unsupported value', 'LaunchRefused'],
  ];
  for (const [who, code, message, expected] of DENIED)
    it(`${expected === 'retry' ? 'is tried again' : 'ends the scan'} if ${who} refuses the Job`, async () => {
      const error = new KubernetesError(code, 'x', message);
      const { launch } = launcherOver((request) => (request === 'POST jobs' ? error : undefined));
      if (expected === 'retry') expect(await rejection(launch())).to.equal(error);
      else expect(await launch()).to.have.nested.property('end.reason', expected);
    });

  it('never adopts a Job that is being deleted', async () => {
    const { launch, job } = launcherOver();
    await launch();
    Object.assign(job()!.metadata, { deletionTimestamp: ago(0) });
    expect(String(await rejection(launch()))).to.match(/is not deleted yet/);
  });

  it('starts again with another Job and another Secret after it was interrupted', async () => {
    let isDown = true;
    const down = new KubernetesError(500, 'InternalError', 'down');
    const { requests, secrets, launch } = launcherOver((request) => (isDown && /PATCH|DELETE/.test(request) ? down : undefined));
    expect(await rejection(launch())).to.equal(down);
    isDown = false;
    expect(String(await rejection(launch()))).to.match(/was interrupted/);
    requests.length = 0;
    expect(await launch()).to.have.property('ok', true);
    expect(requests).to.deep.equal(LAUNCH);
    expect(secrets.map(({ metadata }) => metadata.ownerReferences[0]!.uid)).to.deep.equal(['job-1', 'job-2']);
    expect(new Set(secrets.map(({ metadata }) => metadata.name)).size).to.equal(2);
  });

  it('accepts the Job if the answer to its resumption was lost', async () => {
    const { requests, launch } = launcherOver();
    await launch();
    requests.length = 0;
    expect(await launch()).to.have.property('ok', true);
    expect(requests).to.deep.equal(['POST jobs', 'GET jobs']);
  });
});
