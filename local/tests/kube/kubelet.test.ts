/** Pods as local processes: their environment, their end and their clean-up. */
import { expect } from 'chai';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { eventually, type Client } from './client.ts';
import { openEmbedded, type Embedded } from './targets.ts';

const NAMESPACE = 'pods';
const CORE = `/api/v1/namespaces/${NAMESPACE}`;

/** The commands of the test container, by its first argument. */
const PROGRAM = `
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { spawn } from 'node:child_process';

const [task, ...rest] = process.argv.slice(2);
const forever = () => setInterval(() => undefined, 1000);
const tasks = {
  report: () => {
    const file = (path) => ({ text: readFileSync(path, 'utf8'), mode: (statSync(path).mode & 0o777).toString(8) });
    console.log('reported');
    writeFileSync(rest[0], JSON.stringify({ env: process.env, secret: file(process.env.SECRET_FILE), args: rest.slice(1) }));
  },
  exit: () => process.exit(Number(rest[0])),
  polite: () => { process.on('SIGTERM', () => process.exit(7)); console.log('up'); forever(); },
  stubborn: () => { process.on('SIGTERM', () => undefined); const child = spawn(process.execPath, ['-e', 'process.on("SIGTERM", () => 0); setInterval(() => 0, 1000)']); console.log('child ' + child.pid); forever(); },
};
tasks[task]();
`;

interface PodView {
  metadata: { name: string; uid: string };
  spec: { nodeName?: string };
  status: {
    phase: string;
    reason?: string;
    conditions?: { type: string; status: string; reason?: string; message?: string }[];
    containerStatuses?: {
      state: {
        waiting?: { reason: string; message?: string };
        running?: object;
        terminated?: { exitCode: number; signal?: number; reason: string; message?: string };
      };
    }[];
  };
}

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};

describe('kubelet', () => {
  let embedded: Embedded;
  let client: Client;
  let images: Record<string, { command: string[]; env?: Record<string, string> }>;

  const open = async (dataDir?: string): Promise<Embedded> =>
    openEmbedded(NAMESPACE, { images, jobBackoffMs: 50, ...(dataDir === undefined ? {} : { dataDir }) });

  before(async () => {
    images = {};
    embedded = await open();
    const program = join(embedded.folder, 'program.mjs');
    writeFileSync(program, PROGRAM);
    images['test/program:1'] = { command: [process.execPath, program], env: { FROM_IMAGE: 'yes' } };
    client = embedded.client;
  });
  after(() => embedded.close());

  const get = async (name: string, from = client): Promise<PodView> =>
    (await from.call('GET', `${CORE}/pods/${name}`)).body as unknown as PodView;
  async function run(name: string, args: string[], more: { container?: object; spec?: object } = {}, to = client): Promise<void> {
    const containers = [{ name: 'main', image: 'test/program:1', args, ...more.container }];
    const made = await to.call('POST', `${CORE}/pods`, {
      metadata: { name, labels: { app: 'trial' } },
      spec: { restartPolicy: 'Never', containers, ...more.spec },
    });
    expect(made.code, made.text).to.equal(201);
  }
  const until = (name: string, holds: (pod: PodView) => boolean, from = client): Promise<PodView> =>
    eventually(`${name} to be as expected`, async () => {
      const pod = await get(name, from);
      return holds(pod) ? pod : undefined;
    });
  const phase =
    (wanted: string) =>
    ({ status }: PodView): boolean =>
      status.phase === wanted;
  const stateOf = (pod: PodView): NonNullable<PodView['status']['containerStatuses']>[number]['state'] =>
    pod.status.containerStatuses?.[0]?.state ?? {};
  const waitsFor =
    (reason: string) =>
    (pod: PodView): boolean =>
      stateOf(pod).waiting?.reason === reason;
  const log = async (name: string): Promise<string> => (await client.call('GET', `${CORE}/pods/${name}/log`)).text;

  const isUp = (name: string): Promise<true> =>
    eventually(`${name} to be up`, async () => ((await log(name)) === 'up\n' ? true : undefined));
  const childOf = async (name: string, from = client): Promise<number> =>
    Number(await eventually('its child', async () => /child (\d+)/.exec((await from.call('GET', `${CORE}/pods/${name}/log`)).text)?.[1]));
  const isGone = (child: number): Promise<true> => eventually('its child to be gone', async () => (isAlive(child) ? undefined : true));
  /** Deletes a pod. @returns how its container had ended when the pod was removed */
  async function deleted(name: string) {
    const watch = client.watch(`${CORE}/pods?watch=1&fieldSelector=metadata.name%3D${name}`);
    await client.call('DELETE', `${CORE}/pods/${name}`);
    const lines = await watch.until((seen) => seen.some(({ type }) => type === 'DELETED'));
    watch.close();
    return stateOf(lines.at(-1)?.object as unknown as PodView).terminated;
  }

  it('runs a container with environment variables, volumes and arguments, and reports its end', async () => {
    const container = {
      args: ['report', '/dev/termination-log', '/run/input/scan.json', '/run/inputs'],
      env: [
        { name: 'SECRET_FILE', value: '/run/input/scan.json' },
        { name: 'APP', valueFrom: { fieldRef: { fieldPath: "metadata.labels['app']" } } },
        { name: 'POD_NAME', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
      ],
      volumeMounts: [{ name: 'input', mountPath: '/run/input' }],
    };
    await client.call('POST', `${CORE}/secrets`, { metadata: { name: 'shown' }, stringData: { 'scan.json': '{"a":1}' } });
    await run('shown', [], { container, spec: { volumes: [{ name: 'input', secret: { secretName: 'shown' } }] } });
    const pod = await until('shown', phase('Succeeded'));
    const seen = JSON.parse(stateOf(pod).terminated?.message ?? '') as { env: Record<string, string>; secret: object; args: string[] };
    expect(seen.env).to.include({ FROM_IMAGE: 'yes', APP: 'trial', POD_NAME: 'shown', HOSTNAME: 'shown' });
    expect(seen.env).not.to.have.any.keys('USER', 'KUBECONFIG');
    expect(seen.secret).to.deep.equal({ text: '{"a":1}', mode: '600' });
    expect(seen.args[0]).to.match(/volumes\/input\/scan\.json$/);
    expect(seen.args.slice(1)).to.deep.equal(['/run/inputs']);
    expect(stateOf(pod).terminated).to.include({ exitCode: 0, reason: 'Completed' });
    expect(pod.status.conditions?.find(({ type }) => type === 'Ready')).to.include({ status: 'False', reason: 'PodCompleted' });
    expect(await log('shown')).to.equal('reported\n');
  });

  it('reports exit codes', async () => {
    await run('failing', ['exit', '42']);
    const pod = await until('failing', phase('Failed'));
    expect(stateOf(pod).terminated).to.include({ exitCode: 42, reason: 'Error' });
    expect(pod.status.conditions?.find(({ type }) => type === 'Ready')).to.include({ status: 'False', reason: 'PodFailed' });
  });

  it('keeps a pod pending that fits no node or whose image is unknown', async () => {
    await run('choosy', ['exit', '0'], { spec: { nodeSelector: { disk: 'ssd' } } });
    const choosy = await until('choosy', ({ status }) => status.conditions !== undefined);
    expect(choosy.status.phase).to.equal('Pending');
    expect(choosy.status.conditions?.[0]).to.include({ type: 'PodScheduled', status: 'False', reason: 'Unschedulable' });
    expect(choosy.status.conditions?.[0]?.message).to.match(
      /^0\/1 nodes are available: 1 node\(s\) didn't match Pod's node affinity\/selector\./,
    );
    await run('imageless', [], { container: { image: 'nowhere/x:1' } });
    await until('imageless', waitsFor('ErrImagePull'));
    const pod = await until('imageless', waitsFor('ImagePullBackOff'));
    expect(pod.status.phase).to.equal('Pending');
    for (const name of ['choosy', 'imageless']) {
      await client.call('DELETE', `${CORE}/pods/${name}`);
      await eventually(`${name} to go`, async () => ((await client.call('GET', `${CORE}/pods/${name}`)).code === 404 ? true : undefined));
    }
  });

  it('waits for a Secret that does not exist yet', async () => {
    const container = { volumeMounts: [{ name: 'input', mountPath: '/run/input' }] };
    await run('waiting', ['exit', '0'], { container, spec: { volumes: [{ name: 'input', secret: { secretName: 'late' } }] } });
    await until('waiting', waitsFor('ContainerCreating'));
    await eventually('the reason', async () => {
      const { body } = await client.call('GET', `${CORE}/events?fieldSelector=involvedObject.name%3Dwaiting,reason%3DFailedMount`);
      return (body['items'] as unknown[]).length > 0 ? true : undefined;
    });
    await client.call('POST', `${CORE}/secrets`, { metadata: { name: 'late' }, stringData: { a: 'b' } });
    await until('waiting', phase('Succeeded'));
  });

  it('sends SIGTERM, then kills the process group', async () => {
    await run('polite', ['polite'], { spec: { terminationGracePeriodSeconds: 20 } });
    await isUp('polite');
    expect(await deleted('polite')).to.include({ exitCode: 7 });

    await run('stubborn', ['stubborn'], { spec: { terminationGracePeriodSeconds: 1 } });
    const child = await childOf('stubborn');
    expect(isAlive(child)).to.equal(true);
    expect(await deleted('stubborn')).to.include({ exitCode: 137, signal: 9 });
    await isGone(child);
  });

  it('follows a log', async () => {
    await run('logged', ['polite'], { spec: { terminationGracePeriodSeconds: 5 } });
    await isUp('logged');
    const following = client.call('GET', `${CORE}/pods/logged/log?follow=true&tailLines=1`);
    await client.call('DELETE', `${CORE}/pods/logged`);
    expect((await following).text).to.equal('up\n');
    expect((await client.call('GET', `${CORE}/pods/nobody/log`)).code).to.equal(404);
  });

  it('stops every process on close, and reports the pods as lost at the next start', async () => {
    const first = await open(join(embedded.folder, 'state'));
    await run('lost', ['stubborn'], {}, first.client);
    const child = await childOf('lost', first.client);
    const jobs = `/apis/batch/v1/namespaces/${NAMESPACE}/jobs`;
    const rules = [{ action: 'Ignore', onPodConditions: [{ type: 'DisruptionTarget' }] }];
    const template = { spec: { restartPolicy: 'Never', containers: [{ name: 'main', image: 'test/program:1', args: ['polite'] }] } };
    await first.client.call('POST', jobs, {
      metadata: { name: 'lasting' },
      spec: {
        completionMode: 'Indexed',
        completions: 1,
        backoffLimitPerIndex: 0,
        podReplacementPolicy: 'Failed',
        podFailurePolicy: { rules },
        template,
      },
    });
    const podsOf = async (client: Client): Promise<PodView[]> =>
      (await client.call('GET', `${CORE}/pods?labelSelector=job-name%3Dlasting`)).body['items'] as PodView[];
    const before = await eventually('the Job to run', async () => (await podsOf(first.client)).find(phase('Running')));
    await first.close();
    await isGone(child);

    const second = await open(join(embedded.folder, 'state'));
    const pod = await until('lost', phase('Failed'), second.client);
    expect(pod.status.conditions?.find(({ type }) => type === 'DisruptionTarget')).to.include({
      status: 'True',
      reason: 'DeletionByPodGC',
    });
    const after = await eventually('the Job to run again', async () => (await podsOf(second.client)).find(phase('Running')));
    expect(after.metadata.uid).not.to.equal(before.metadata.uid);
    await second.close();
  });
});
