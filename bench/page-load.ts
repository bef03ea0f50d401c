/** Requests pages over kept connections and measures them: milliseconds until the last byte, and bytes on the wire. */
import { Pool } from 'undici';
import { timesOf, type Times } from './installation.ts';

export interface PageLoad {
  status: number;
  type: string;
  /** The compressed bytes of the page itself. */
  bytes: number;
  /** The bytes of its HTML. */
  htmlBytes: number;
  /** Milliseconds of CPU time of the server for each sequential request. Other programs of the machine do not count in it. */
  cpuMs: number | null;
  /** Milliseconds of the first request, which finds nothing in memory. */
  firstMs: number;
  /** The compressed bytes of the page and of the files that it loads from `/assets/`. */
  withAssets: number;
  sequential: Times;
  /** With `CONNECTIONS` connections at once. */
  parallel: Times;
}

export const CONNECTIONS = 8;
const WARM_UP = 20;
const ANSWER_TIMEOUT_MS = 10_000;
const HEADERS = { accept: 'text/html', 'accept-encoding': 'br, gzip' };

interface Answer {
  status: number;
  type: string;
  body: Buffer;
}

async function get(pool: Pool, path: string, headers: Readonly<Record<string, string>>): Promise<Answer> {
  const answer = await pool.request({ method: 'GET', path, headers: { ...HEADERS, ...headers }, headersTimeout: ANSWER_TIMEOUT_MS });
  const type = String(answer.headers['content-type'] ?? '');
  // A stream of events has no end.
  if (type.startsWith('text/event-stream')) {
    answer.body.on('error', () => undefined).destroy();
    return { status: answer.statusCode, type, body: Buffer.alloc(0) };
  }
  return { status: answer.statusCode, type, body: Buffer.from(await answer.body.arrayBuffer()) };
}

/** The addresses of the files that a page loads. */
const assetsOf = (html: string): string[] => [...new Set([...html.matchAll(/(?:href|src)="(\/assets\/[^"]+)"/g)].map(([, path]) => path!))];

/**
 * Measures `count` requests of one page, one after the other, and then as many over all connections. Null if it is no page.
 * @param cpuSeconds the CPU time of the server until now, for `cpuMs`
 */
export async function measurePage(
  origin: string,
  path: string,
  { count, headers = {}, cpuSeconds }: { count: number; headers?: Readonly<Record<string, string>>; cpuSeconds?: () => Promise<number> },
): Promise<PageLoad | null> {
  const pool = new Pool(origin, { connections: CONNECTIONS });
  const timed = async (): Promise<number> => {
    const before = performance.now();
    const { status } = await get(pool, path, headers);
    if (status === 429 || status >= 500) throw new Error(`${path}: ${status}`);
    return performance.now() - before;
  };
  try {
    const before = performance.now();
    const first = await get(pool, path, headers);
    const firstMs = performance.now() - before;
    if (!first.type.startsWith('text/html')) return null;
    const plain = await get(pool, path, { ...headers, 'accept-encoding': 'identity' });
    const assets = await Promise.all(assetsOf(plain.body.toString()).map((asset) => get(pool, asset, {})));
    for (let index = 0; index < WARM_UP; index++) await timed();
    const sequential: number[] = [];
    const cpuBefore = await cpuSeconds?.();
    for (let index = 0; index < count; index++) sequential.push(await timed());
    const cpuMs = cpuBefore === undefined ? null : ((await cpuSeconds!()) - cpuBefore) * (1000 / count);
    const parallel: number[] = [];
    await Promise.all(
      Array.from({ length: CONNECTIONS }, async () => {
        for (let index = 0; index < count / CONNECTIONS; index++) parallel.push(await timed());
      }),
    );
    return {
      status: first.status,
      type: first.type,
      bytes: first.body.length,
      htmlBytes: plain.body.length,
      cpuMs,
      firstMs,
      withAssets: first.body.length + assets.reduce((sum, { body }) => sum + body.length, 0),
      sequential: timesOf(sequential),
      parallel: timesOf(parallel),
    };
  } finally {
    await pool.destroy();
  }
}
