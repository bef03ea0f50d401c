/** Runs the scanner program, with an object store of its own on loopback that keeps the results in memory. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import type { PodFailed, PodInput, PodStored } from '../../core/protocol/pod-messages.ts';
import { SCANNER_PROGRAM } from '../../core/protocol/scanner-program.ts';
import { parsedJson } from '../values.ts';

/** The time that the scanner gets to close its browser after SIGTERM, in milliseconds. */
const CLOSE_MS = 10_000;

interface LogLine {
  msg?: string;
  url?: string;
  detail?: string;
  err?: { message?: string };
}

/** The results of a scan that was done. */
export interface ScannerResults {
  export: Buffer;
  pdf: Buffer;
  /** Null: there are none. */
  pictures: Buffer | null;
}

/** `failed`: the site could not be tested. `crashed`: the scanner itself ended early, for example because there is no Chromium. */
export type ScannerEnd = { ok: true; results: ScannerResults } | { ok: false; reason: 'failed' | 'crashed'; message: string };

export interface ScannerDeps {
  /** The file of the scanner's program. */
  scanner: string;
  environment: Record<string, string | undefined>;
  /** The export of the baseline, if the input names one. */
  baseline: Buffer | null;
  /** Stops the scanner. `runScanner` then throws the signal's reason. */
  signal: AbortSignal;
  /** Called after each page. */
  onPage(page: { url: string; tested: boolean; detail?: string }): void;
}

/** Runs a scan. @param input without its upload links */
export async function runScanner(input: Omit<PodInput, 'uploads'>, deps: ScannerDeps): Promise<ScannerEnd> {
  const folder = await mkdtemp(join(tmpdir(), 'curbcut-local-'));
  const store = await openStore();
  let child: ChildProcess | null = null;
  try {
    const file = join(folder, 'scan.json');
    const end = join(folder, 'end.json');
    const link = (name: string): string => `${store.url}/${name}`;
    const uploads = [
      { attempt: 0, shard: 0, export: link('export'), pdf: link('pdf'), pictures: link('pictures'), result: link('result') },
    ];
    if (deps.baseline !== null) store.objects.set('/baseline', deps.baseline);
    const baseline = input.baseline && { ...input.baseline, export: link('baseline') };
    await writeFile(file, JSON.stringify({ ...input, uploads, ...(baseline && { baseline }) } satisfies PodInput), { mode: 0o600 });
    deps.signal.throwIfAborted();
    child = spawn(process.execPath, [SCANNER_PROGRAM[0], deps.scanner], {
      cwd: dirname(deps.scanner),
      env: { ...deps.environment, SCAN_INPUT: file, TERMINATION_LOG: end, TMPDIR: folder },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const failure = await follow(child, deps);
    deps.signal.throwIfAborted();
    const message = await readEnd(end);
    if (message?.kind === 'failed') return { ok: false, reason: 'failed', message: message.message };
    const [exported, pdf] = [store.objects.get('/export'), store.objects.get('/pdf')];
    if (message === null || exported === undefined || pdf === undefined)
      return { ok: false, reason: 'crashed', message: failure ?? 'The scanner ended without a result.' };
    return { ok: true, results: { export: exported, pdf, pictures: store.objects.get('/pictures') ?? null } };
  } finally {
    if (child !== null) await stop(child);
    store.server.closeAllConnections();
    store.server.close();
    await rm(folder, { recursive: true, force: true });
  }
}

/** Reads the scanner's log until its end. @returns its last error, or null */
async function follow(child: ChildProcess, { signal, onPage }: ScannerDeps): Promise<string | null> {
  let failure: string | null = null;
  const closed = new Promise<void>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', () => resolve());
  });
  const onAbort = (): void => void child.kill('SIGTERM');
  signal.addEventListener('abort', onAbort, { once: true });
  createInterface({ input: child.stdout! }).on('line', (text) => {
    const line = parsedJson(text) as LogLine | null;
    if (line?.err?.message !== undefined) failure = line.err.message;
    if (line?.url !== undefined && (line.msg === 'page tested' || line.msg === 'page not tested'))
      onPage({ url: line.url, tested: line.msg === 'page tested', detail: line.detail });
  });
  // Errors before the log exists, such as a mistake in the input.
  createInterface({ input: child.stderr! }).on('line', (text) => (failure = text));
  try {
    await closed;
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
  return failure;
}

async function readEnd(file: string): Promise<PodStored | PodFailed | null> {
  return parsedJson(await readFile(file, 'utf8').catch(() => '')) as PodStored | PodFailed | null;
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return;
  const ended = once(child, 'close');
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), CLOSE_MS);
  await ended;
  clearTimeout(timer);
}

interface Store {
  server: Server;
  url: string;
  objects: Map<string, Buffer>;
}

async function openStore(): Promise<Store> {
  const objects = new Map<string, Buffer>();
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      if (request.method === 'GET') return void response.end(objects.get(request.url!));
      objects.set(request.url!, Buffer.concat(chunks));
      response.end();
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, objects };
}
