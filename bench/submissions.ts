/**
 * Measures what one submission and one poll cost the API in CPU time, by part of its code, and how fast both are, beside a bare
 * creation of the resource and a constant answer of Fastify in the same run.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { API_VERSION, GROUP, SCANS_PLURAL, VERSION } from '../core/protocol/custom-resources.ts';
import { metric, pace, quantile, startInstallation, type Installation } from './installation.ts';

export interface Pace {
  perSecond: number;
  p50Ms: number;
  p99Ms: number;
}

export interface Request extends Pace {
  /** CPU milliseconds of one request in the processes. `rest`: the embedded stack and the client. */
  cpuMs: { api: number; operator: number; rest: number };
  /** The API's CPU milliseconds of one request by part of its code, largest first. */
  parts: [part: string, ms: number][];
}

export interface FrontDoor {
  submission: Request;
  poll: Request;
  /** Creations of the bare resource. */
  bare: Pace;
  /** Constant answers of Fastify. */
  constant: Pace;
}

/** A namespace that the operator does not watch. */
const BARE = 'bench-bare';
/** Requests before the measured ones: the first ones are compiled and open connections. */
const WARM_UP = 100;

/** Measures `count` submissions, polls, bare creations and constant answers, on a new installation whose operator runs one scan at a time. */
export async function measureSubmissions(count: number): Promise<FrontDoor> {
  const peer = spawn(process.execPath, [join(import.meta.dirname, 'static-route.ts')], { stdio: ['ignore', 'pipe', 'inherit'] });
  // Of the requests that a key may send, one half are submissions and one half polls.
  const indexOf = (n: number): number => 2 * n;
  const installation = await startInstallation({ scans: indexOf(WARM_UP + count), maxRunning: 1, nodeFlags: ['--inspect=127.0.0.1:0'] });
  try {
    const { connection, submit, poll } = installation;
    const [printed] = (await once(peer.stdout, 'data')) as [Buffer];
    const ids: string[] = [];
    const submitted = async (n: number): Promise<void> => void (ids[n] = await submit(indexOf(n)));
    await pace(WARM_UP, submitted);
    const submission = await profiled(installation, count, (n) => submitted(WARM_UP + n));
    const polled = (n: number): Promise<void> => poll(indexOf(n), ids[n]!);
    await pace(WARM_UP, polled);
    const ofPolls = await profiled(installation, count, (n) => polled(WARM_UP + n));
    await connection.request('POST', '/api/v1/namespaces', { body: { apiVersion: 'v1', kind: 'Namespace', metadata: { name: BARE } } });
    const path = connection.path({ group: GROUP, version: VERSION, plural: SCANS_PLURAL }, BARE);
    const spec = { url: 'http://127.0.0.1:8080/' };
    const bare = await paced(count, (n) =>
      connection.request('POST', path, {
        body: { apiVersion: API_VERSION, kind: 'AccessibilityScan', metadata: { name: `bare-${n}` }, spec },
      }),
    );
    const constant = async (): Promise<unknown> => (await fetch(`http://127.0.0.1:${printed.toString().trim()}/`)).arrayBuffer();
    await pace(WARM_UP, constant);
    return { submission, poll: ofPolls, bare, constant: await paced(count, constant) };
  } finally {
    peer.kill();
    await installation.close();
  }
}

async function paced(count: number, act: (index: number) => Promise<unknown>): Promise<Pace> {
  const { seconds, each } = await pace(count, act);
  return { perSecond: count / seconds, p50Ms: quantile(each, 0.5), p99Ms: quantile(each, 0.99) };
}

async function profiled({ product, logs }: Installation, count: number, act: (index: number) => Promise<unknown>): Promise<Request> {
  const cpu = async () => ({
    api: await metric(product.apiProbesUrl, 'curbcut_process_cpu_seconds_total'),
    operator: await metric(product.operatorUrl, 'curbcut_process_cpu_seconds_total'),
    rest: process.cpuUsage().user / 1e6 + process.cpuUsage().system / 1e6,
  });
  const [, address] = /^Debugger listening on (ws:.+)$/m.exec(await readFile(join(logs, 'api.log'), 'utf8')) ?? [];
  if (address === undefined) throw new Error('the API has no inspector');
  const profiler = await connectInspector(address);
  await profiler.send('Profiler.enable');
  await profiler.send('Profiler.start');
  const before = await cpu();
  const measured = await paced(count, act);
  const after = await cpu();
  const { profile } = (await profiler.send('Profiler.stop')) as { profile: Profile };
  profiler.close();
  const ms = (name: keyof typeof before): number => ((after[name] - before[name]) * 1000) / count;
  const times = [...timesOf(profile)];
  // The profiler counts the time that passes, also while other programs use the processor.
  const all = times.reduce((sum, [, time]) => sum + time, 0);
  const parts = times.map(([part, time]): [string, number] => [part, (ms('api') * time) / all]);
  return {
    ...measured,
    cpuMs: { api: ms('api'), operator: ms('operator'), rest: ms('rest') },
    parts: parts.sort(([, one], [, other]) => other - one),
  };
}

interface Profile {
  nodes: { id: number; callFrame: { functionName: string; url: string }; children?: number[] }[];
  samples: number[];
  timeDeltas: number[];
}

const PARTS: readonly [part: string, pattern: RegExp][] = [
  ['MongoDB driver', /node_modules\/(mongodb|bson|mongodb-connection-string-url)\//],
  ['HTTP client of Kubernetes', /node_modules\/undici\/|node:internal\/deps\/undici/],
  ['Fastify', /node_modules\/(@?fastify|find-my-way|avvio|fast-|ajv|light-my-request|secure-json)/],
  ['logs, traces and metrics', /node_modules\/(pino|sonic|@opentelemetry|prom-client)|platform\/(logger|tracing)|api\/metrics/],
  ['other packages', /node_modules\//],
  ['stores', /\/stores\//],
  ['api', /\/api\//],
  ['core', /\/core\//],
  ['platform', /\/platform\//],
];

/** Microseconds by part. What Node.js does for a part is the part's, where its stack says so. */
function timesOf({ nodes, samples, timeDeltas }: Profile): Map<string, number> {
  const parts = new Map<number, string | null>();
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const waiting: [number, string][] = [[nodes[0]!.id, 'Node.js']];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { callFrame, children = [], id } = byId.get(next[0])!;
    const { functionName, url } = callFrame;
    const own = functionName === '(garbage collector)' ? 'garbage collection' : PARTS.find(([, pattern]) => pattern.test(url))?.[0];
    const part = own ?? next[1];
    // Waiting for events is in `(program)` too.
    parts.set(id, functionName === '(idle)' || functionName === '(program)' ? null : part);
    waiting.push(...children.map((child): [number, string] => [child, part]));
  }
  const times = new Map<string, number>();
  for (const [index, sample] of samples.entries()) {
    const part = parts.get(sample);
    if (part != null) times.set(part, (times.get(part) ?? 0) + timeDeltas[index]!);
  }
  return times;
}

/** A connection to the inspector of a process. */
async function connectInspector(url: string) {
  const socket = new WebSocket(url);
  const answers = new Map<number, (result: unknown) => void>();
  socket.addEventListener('message', ({ data }) => {
    const { id, result } = JSON.parse(data as string) as { id?: number; result: unknown };
    if (id !== undefined) answers.get(id)?.(result);
  });
  await once(socket, 'open');
  let last = 0;
  return {
    send: (method: string): Promise<unknown> =>
      new Promise((resolve) => {
        answers.set((last += 1), resolve);
        socket.send(JSON.stringify({ id: last, method }));
      }),
    close: () => socket.close(),
  };
}
