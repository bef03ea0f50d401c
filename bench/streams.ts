/** Measures event streams of one API replica: how many it admits, their memory, and the time from a change to its events. */
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pino } from 'pino';
import { createMessageBus } from '../stores/nats.ts';
import { STREAMS_PER_KEY } from '../api/http/errors.ts';
import { PER_ORGANISATION, quantile, startInstallation, type Installation } from './installation.ts';

export interface StreamsCost {
  requested: number;
  admitted: number;
  /** Bytes of the heap for each stream after garbage collection. */
  heapBytes: number;
  /** Of changes of one scan, one after the other. */
  single: Delays;
  /** Of a change of every scan at once. */
  burst: Delays;
}

/** Milliseconds from a message to the events that follow, and how much longer the last client waits than the first. */
export interface Delays {
  events: number;
  p50: number;
  p99: number;
  lastToFirst: number;
}

/** Received by a client: at which time, and the version of the scan. */
type OnEvent = (version: number, at: number) => void;

const ROUNDS = 20;
const EVENT_WITHIN_MS = 10_000;

/** @param requested streams, which are spread over scans of organisations with one key each */
export async function measureStreams(requested: number): Promise<StreamsCost> {
  const keys = Math.ceil(requested / STREAMS_PER_KEY);
  const installation = await startInstallation({ scans: keys * PER_ORGANISATION, maxRunning: 1, nodeFlags: ['--inspect=127.0.0.1:0'] });
  const { product, secrets, environment, scans, close } = installation;
  const bus = createMessageBus({
    url: environment.NATS_URL!,
    credentialsFile: environment.NATS_CREDENTIALS_FILE,
    logger: pino({ level: 'silent' }),
  });
  const disconnects: (() => void)[] = [];
  try {
    const ids = await Promise.all(secrets.map((_key, index) => installation.submit(index * PER_ORGANISATION)));
    const received: { scan: string; version: number; at: number }[] = [];
    const open = async (count: number, from = 0): Promise<number> => {
      const opened = Array.from({ length: count }, (_, one) => {
        const at = Math.floor((from + one) / STREAMS_PER_KEY);
        const scan = ids[at]!;
        const stream = openStream(product.url, scan, secrets[at]!, (version, time) => received.push({ scan, version, at: time }));
        disconnects.push(stream.close);
        return stream.status;
      });
      return (await Promise.all(opened)).filter((status) => status === 200).length;
    };
    // The code is compiled before memory is measured.
    let admitted = await open(STREAMS_PER_KEY);
    const before = await heapOf(installation);
    for (let from = STREAMS_PER_KEY; from < requested; from += STREAMS_PER_KEY)
      admitted += await open(Math.min(STREAMS_PER_KEY, requested - from), from);
    const heapBytes = ((await heapOf(installation)) - before) / (admitted - STREAMS_PER_KEY);

    const measure = async (changed: readonly string[], expected: number): Promise<number[]> => {
      const at = new Map<string, number>();
      const organisations = new Map<string, string>();
      received.length = 0;
      for (const [index, id] of changed.entries()) {
        const { row } = (await scans.mirror(id, { message: `change ${performance.now()} of ${index}` }))!;
        at.set(id, row.version);
        organisations.set(id, row.organisation);
      }
      const published = performance.now();
      for (const [id, organisation] of organisations) bus.publishStatus(organisation, id);
      const arrived = () => received.filter(({ scan, version }) => version >= (at.get(scan) ?? Infinity));
      for (let waited = 0; arrived().length < expected && waited < EVENT_WITHIN_MS; waited += 10) await sleep(10);
      // A replica that reads all rows meanwhile sends some events before the messages.
      return arrived().flatMap((one) => (one.at < published ? [] : [one.at - published]));
    };
    const [single, burst]: [number[][], number[][]] = [[], []];
    for (let round = 0; round < ROUNDS; round++) {
      single.push(await measure([ids[round % ids.length]!], STREAMS_PER_KEY));
      burst.push(await measure(ids, admitted));
    }
    return { requested, admitted, heapBytes, single: delaysOf(single), burst: delaysOf(burst) };
  } finally {
    for (const disconnect of disconnects) disconnect();
    await bus.close();
    await close();
  }
}

function delaysOf(rounds: readonly (readonly number[])[]): Delays {
  const all = rounds.flat().toSorted((one, other) => one - other);
  const ratios = rounds.map((each) => Math.max(...each) / Math.min(...each)).toSorted((one, other) => one - other);
  return { events: all.length, p50: quantile(all, 0.5), p99: quantile(all, 0.99), lastToFirst: quantile(ratios, 0.5) };
}

/** Follows a scan over a bare connection, which costs this process least. `status` is that of the response, once its first text is there. */
function openStream(url: string, scan: string, key: string, onEvent: OnEvent): { status: Promise<number>; close(): void } {
  const { hostname, port, host } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.write(`GET /v1/ci/scans/${scan}/events HTTP/1.1\r\nHost: ${host}\r\nX-API-Key: ${key}\r\nAccept: text/event-stream\r\n\r\n`);
  const status = new Promise<number>((resolve, reject) => {
    socket.on('error', reject).setEncoding('latin1');
    socket.on('data', (text: string) => {
      const at = performance.now();
      resolve(Number(/^HTTP\/1\.1 (\d+)/.exec(text)?.[1]));
      for (const [, id] of text.matchAll(/^id: (\d+)/gm)) onEvent(Number(id), at);
    });
  });
  return { status, close: () => socket.destroy() };
}

/** The bytes of the API's heap after garbage collection, by the debugger of Node.js. */
async function heapOf({ logs }: Installation): Promise<number> {
  const address = /ws:\/\/\S+/.exec(readFileSync(join(logs, 'api.log'), 'utf8'))?.[0];
  if (address === undefined) throw new Error('the API did not write the address of its debugger');
  const socket = new WebSocket(address);
  const next = (type: string): Promise<MessageEvent> =>
    new Promise((resolve) => socket.addEventListener(type, (event) => resolve(event as MessageEvent), { once: true }));
  const ask = async (method: string): Promise<{ usedSize: number }> => {
    const answered = next('message');
    socket.send(JSON.stringify({ id: 1, method }));
    return (JSON.parse(String((await answered).data)) as { result: { usedSize: number } }).result;
  };
  await next('open');
  await ask('HeapProfiler.collectGarbage');
  const { usedSize } = await ask('Runtime.getHeapUsage');
  socket.close();
  return usedSize;
}
