/** A fake service over real HTTP, and a way to run the command line against it. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { SCANNER_PROGRAM } from '../../core/protocol/scanner-program.ts';
import { run } from '../../cli/run.ts';
import type { Terminal } from '../../cli/terminal.ts';

export const SCAN_ID = '3f2b8c1e-6a4d-4f0e-9b7a-1c2d3e4f5a6b';
export const KEY = 'svc_live_0123456789abcdefghijABCDEFGHIJ01234567';

/** One request that the service received. */
export interface ReceivedRequest {
  method: string;
  path: string;
  headers: IncomingMessage['headers'];
  body: unknown;
}

/** Writes the response itself, or returns the response to send. */
export type Answering = (
  request: ReceivedRequest,
  response: ServerResponse,
) => { status: number; headers?: Record<string, string>; body?: unknown } | void;

export interface Service {
  url: string;
  requests: ReceivedRequest[];
  of(method: string, path: string | RegExp): ReceivedRequest[];
  close(): Promise<void>;
}

/** Starts a service. @param host the address that it listens on */
export async function startService(answer: Answering, host = '127.0.0.1'): Promise<Service> {
  const requests: ReceivedRequest[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const text = Buffer.concat(chunks).toString();
      const seen: ReceivedRequest = {
        method: request.method!,
        path: request.url!,
        headers: request.headers,
        body: text === '' ? null : JSON.parse(text),
      };
      requests.push(seen);
      const reply = answer(seen, response);
      if (reply === undefined) return;
      response.writeHead(reply.status, { 'Content-Type': 'application/json', ...reply.headers });
      response.end(typeof reply.body === 'string' || reply.body instanceof Uint8Array ? reply.body : JSON.stringify(reply.body ?? null));
    });
  });
  server.listen(0, host);
  await once(server, 'listening');
  return {
    url: `http://${host}:${(server.address() as AddressInfo).port}`,
    requests,
    of: (method, path) =>
      requests.filter((seen) => seen.method === method && (typeof path === 'string' ? seen.path === path : path.test(seen.path))),
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

export const accepted = {
  scan_id: SCAN_ID,
  status: 'queued',
  status_url: `/v1/ci/scans/${SCAN_ID}`,
  message: 'The scan is queued.',
  pages_requested: 5,
  pages_reserved: 5,
};

/** The result of a scan that passed, with changes. */
export const result = (change: Record<string, unknown> = {}) => ({
  scan_id: SCAN_ID,
  status: 'done',
  score: 97.5,
  violations_count: 3,
  violations_critical: 0,
  violations_serious: 1,
  violations_moderate: 2,
  violations_minor: 0,
  passed: true,
  report_url: `/v1/scans/${SCAN_ID}/report`,
  url: 'https://x.example/',
  message: null,
  ...change,
});

export const running = (status = 'scanning') => result({ status, score: null, passed: null, violations_count: null, report_url: null });

const event = (id: number, data: unknown): string => `id: ${id}\ndata: ${JSON.stringify(data)}\n\n`;
export const progress = (id: number, status: string, scanned: number, total: number): string =>
  event(id, { event: 'progress', status, scan_id: SCAN_ID, pages_scanned: scanned, pages_total: total });
export const complete = (id: number, change: Record<string, unknown> = {}): string => {
  const { report_url: _report, url: _url, ...rest } = result(change);
  return event(id, { event: 'complete', ...rest });
};

/** The route of a request: `GET /v1/ci/scans`. */
export const SUBMIT = 'POST /v1/ci/scans';
export const EVENTS = `GET /v1/ci/scans/${SCAN_ID}/events`;
export const POLL = `GET /v1/ci/scans/${SCAN_ID}`;

/** Answers each route with its answers in order, and repeats the last one. */
export function routes(table: Record<string, Answering[]>): Answering {
  const asked = new Map<string, number>();
  return (request, response) => {
    const route = `${request.method} ${request.path.split('?')[0]}`;
    const answers = table[route];
    if (answers === undefined) return { status: 404, body: { detail: 'not_found', message: `Nothing at ${route}.` } };
    const count = asked.get(route) ?? 0;
    asked.set(route, count + 1);
    return answers[Math.min(count, answers.length - 1)]!(request, response);
  };
}

export const accepts: Answering = () => ({ status: 202, body: accepted });
export const streams =
  (...pieces: string[]): Answering =>
  (_, response) =>
    stream(response, pieces);
export const replies =
  (status: number, body: unknown, headers: Record<string, string> = {}): Answering =>
  () => ({ status, body, headers });
/** Accepts the request and never answers. */
export const silence: Answering = () => undefined;

/** Runs commands against services, which are closed after each test. Call it in `describe`. */
export function serviceForTests() {
  let current: Service | undefined;
  afterEach(async () => {
    await current?.close();
    current = undefined;
  });
  type Options = Parameters<typeof curbcut>[1];
  const run = async (args: readonly string[], table: Record<string, Answering[]>, options: Options = {}): Promise<Output> => {
    await current?.close();
    current = await startService(routes(table));
    return curbcut(args, { url: current.url, ...options });
  };
  return {
    run,
    /** Runs `curbcut scan`. */
    scan: (table: Record<string, Answering[]>, args: readonly string[] = [], options: Options = {}): Promise<Output> =>
      run(['scan', 'https://x.example/', ...args], table, options),
    /** The service of the last run. */
    service: (): Service => current!,
  };
}

/** Writes the chunks of an event stream; `end: false` leaves it open. */
export function stream(response: ServerResponse, chunks: readonly string[], end = true): void {
  response.writeHead(200, { 'Content-Type': 'text/event-stream; charset=utf-8' });
  for (const chunk of chunks) response.write(chunk);
  if (end) response.end();
}

export interface Output {
  code: number;
  stdout: string;
  stderr: string;
  /** Requested sleeps in milliseconds. No time passes in the tests. */
  slept: number[];
}

/** Runs the command line in this process with a fake clock. */
export async function curbcut(
  args: readonly string[],
  options: {
    url?: string;
    environment?: Record<string, string | undefined>;
    /** Beside those of the service, if `environment` is not given. */
    variables?: Record<string, string>;
    interrupt?: AbortController;
    live?: boolean;
    onSleep?: () => void;
    newId?: () => string;
    /** What is pasted. */
    secret?: string;
    /** Milliseconds by which the command's clock is ahead. */
    ahead?: () => number;
    /** Gets the output before the command runs, to read it meanwhile. */
    onStart?: (output: Readonly<Output>) => void;
  } = {},
): Promise<Output> {
  const output: Output = { code: -1, stdout: '', stderr: '', slept: [] };
  options.onStart?.(output);
  const terminal = (name: 'stdout' | 'stderr'): Terminal => ({
    live: options.live === true,
    color: false,
    unicode: true,
    columns: () => 80,
    write: (text) => (output[name] += text),
  });
  output.code = await run(args, {
    stdout: terminal('stdout'),
    stderr: terminal('stderr'),
    environment: options.environment ?? { CURBCUT_URL: options.url ?? '', CURBCUT_API_KEY: KEY, ...options.variables },
    version: '1.2.3',
    scanner: join(import.meta.dirname, '..', '..', SCANNER_PROGRAM[1]),
    signal: (options.interrupt ?? new AbortController()).signal,
    // A clock that also advances by what the command sleeps.
    monotonic: () => performance.now() + (options.ahead?.() ?? 0) + output.slept.reduce((sum, ms) => sum + ms, 0),
    sleep: async (ms, signal) => {
      output.slept.push(ms);
      options.onSleep?.();
      signal.throwIfAborted();
    },
    newId: options.newId ?? (() => 'key-of-this-run'),
    readSecret: () => Promise.resolve(options.secret ?? ''),
  });
  return output;
}
