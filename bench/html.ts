/** Measures the server time of every HTML page with many scans stored, and of scans with many root causes, beside a static route in the same run. */
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { buildApp } from '../api/app.ts';
import { createMetrics } from '../api/metrics.ts';
import { DEMO_EMAIL, ensureDemoOrganisation } from '../local/demo-organisation.ts';
import { startDemoSite } from '../demo-site/server.ts';
import { siteOf } from '../core/scan/site.ts';
import { outcomeOf } from '../report/results/results.ts';
import { viewObjectsOf } from '../report/view/view.ts';
import { startProduct } from '../local/product.ts';
import { startStack } from '../local/stack.ts';
import { connectMongo } from '../stores/mongo.ts';
import { createReports } from '../stores/reports.ts';
import type { ScanRow } from '../stores/scans/scans.ts';
import { openStores } from '../stores/stores.ts';
import { metric, readStart } from './installation.ts';
import { measurePage, type PageLoad } from './page-load.ts';
import { startPeer } from './peer.ts';
import { signIn } from '../test/support/sign-in.ts';
import { reportWith } from '../test/web/large-report.ts';
import { DEFAULT_NAMESPACE } from '../core/protocol/custom-resources.ts';

export interface MeasuredPage extends PageLoad {
  /** The route, such as /dashboard/scans/:id. */
  route: string;
  /** The p95 of sequential requests divided by that of the static route. */
  ratio: number;
}
/** A page of a scan with a small and with a large report. */
export interface MeasuredReport {
  route: string;
  small: PageLoad;
  large: PageLoad;
}
export interface MeasuredPages {
  scans: number;
  peer: PageLoad;
  pages: MeasuredPage[];
  reports: MeasuredReport[];
}

const ORGANISATION = 'demo';
const BATCH = 500;
/** The compared reports. */
export const REPORT_SIZES = { small: { pages: 15, causes: 75 }, large: { pages: 500, causes: 3_000 } } as const;
const REPORT_ROUTES = ['/dashboard/scans/:id', '/dashboard/scans/:id/pages', '/dashboard/scans/:id/pages/1'];
const SCAN_TIMEOUT_MS = 120_000;

/** Measures every page `requests` times with `scans` stored scans of one organisation, on the embedded stack. */
export async function measureHtml(scans: number, requests: number): Promise<MeasuredPages> {
  const dir = await mkdtemp(join(tmpdir(), 'curbcut-bench-'));
  const closers: (() => Promise<unknown>)[] = [() => rm(dir, { recursive: true, force: true })];
  try {
    const logger = pino({ level: 'silent' });
    const stack = await startStack({ dataDir: dir, environment: { PATH: process.env.PATH }, logger });
    closers.push(() => stack.close());
    const demo = await startDemoSite({});
    closers.push(() => demo.close());
    const image = readStart();
    const environment = { ...process.env, ...stack.environment, ALLOW_TARGETS: '127.0.0.0/8', LOG_LEVEL: 'warn', ...image.environment };
    const files = { environmentFile: join(dir, 'env'), passwordFile: join(dir, 'demo-password') };
    const { key, password } = await ensureDemoOrganisation({ environment, ...files, namespace: DEFAULT_NAMESPACE, keyName: 'bench' });
    const product = await startProduct({ environment, nodeFlags: image.nodeFlags, logDir: dir });
    closers.push(() => product.close());
    const mongo = connectMongo({ url: stack.environment.MONGODB_URL!, logger });
    closers.push(() => mongo.close());

    // Two real scans, so that the second one has a comparison, and a public one.
    const ids = [await scan(product.url, key, demo.url), await scan(product.url, key, demo.url)];
    const routes = await pageRoutes(mongo.db);
    const token = routes.includes('/scan/:token') ? await publicScan(product.url, demo.url) : 'none';
    await copyScans(mongo.db, ids[0]!, scans);
    const { cookie } = await signIn(product.url, { email: DEMO_EMAIL, password: password! });
    const peer = await startPeer(closers);

    // Signed in, or without a session where a session leads elsewhere.
    const cpuSeconds = () => metric(product.apiProbesUrl, 'curbcut_process_cpu_seconds_total');
    const load = async (path: string) =>
      (await measurePage(product.url, path, { count: requests, headers: { cookie }, cpuSeconds })) ??
      (await measurePage(product.url, path, { count: requests, cpuSeconds }));
    const before = (await measurePage(peer, '/', { count: requests }))!;
    const pages: MeasuredPage[] = [];
    for (const route of routes) {
      const values: Readonly<Record<string, string>> = { page: '1', site: encodeURIComponent(siteOf(demo.url)), id: ids[1]! };
      const path = route.replace(/:(\w+)/g, (_, name: string) => values[name] ?? token);
      process.stderr.write(`bench: ${route}\n`);
      const page = await load(path);
      if (page !== null) pages.push({ route, ...page, ratio: page.sequential.p95 / before.sequential.p95 });
    }
    const stored = await storeReports(mongo.db, stack.environment, { id: ids[0]!, url: demo.url });
    const reports: MeasuredReport[] = [];
    for (const route of REPORT_ROUTES) {
      const [small, large] = [await load(route.replace(':id', stored.small)), await load(route.replace(':id', stored.large))];
      if (small?.status !== 200 || large?.status !== 200) throw new Error(`${route} of a stored report is no page`);
      reports.push({ route, small, large });
    }
    return { scans, peer: before, pages, reports };
  } finally {
    for (const close of closers.reverse()) await close();
  }
}

/** The routes of the app that may be pages: those that are not in the OpenAPI document. */
async function pageRoutes(db: Parameters<typeof openStores>[0]): Promise<string[]> {
  const logger = pino({ level: 'silent' });
  // Only its routes are read: it serves no request.
  const unused = {} as never;
  const app = await buildApp(
    {
      stores: { ...openStores(db, { logger }), reports: unused, scanResources: unused, scheduleResources: unused },
      bus: unused,
      resolver: unused,
      now: () => new Date(),
      logger,
      metrics: createMetrics(),
    },
    {
      publicBaseUrl: 'http://127.0.0.1',
      namespace: DEFAULT_NAMESPACE,
      targets: { allow: [], deny: [] } as never,
      maxPagesLimit: 1,
      maxLiveScans: 1,
      maxLiveScansPerOrganisation: 1,
      maxEventStreams: 1,
      version: '0',
    },
  );
  try {
    // A file is no page.
    return app.web.routes().filter((route) => !/\.\w+$/.test(route));
  } finally {
    await app.close();
  }
}

async function answerOf<T>(answer: Response, status: number): Promise<T> {
  const text = await answer.text();
  if (answer.status !== status) throw new Error(`${answer.url}: ${answer.status} ${text}`);
  return JSON.parse(text) as T;
}

async function until<T>(what: string, poll: () => Promise<T | null>): Promise<T> {
  const end = Date.now() + SCAN_TIMEOUT_MS;
  while (Date.now() < end) {
    const value = await poll();
    if (value !== null) return value;
    await new Promise((resolve) => setTimeout(resolve, 1500));
  }
  throw new Error(`${what}: not within ${SCAN_TIMEOUT_MS / 1000} s`);
}

/** Runs a scan to its end. @returns its id */
async function scan(api: string, key: string, url: string): Promise<string> {
  const headers = { 'X-API-Key': key, 'Content-Type': 'application/json' };
  const body = JSON.stringify({ url, max_pages: 15 });
  const { scan_id: id } = await answerOf<{ scan_id: string }>(await fetch(`${api}/v1/ci/scans`, { method: 'POST', headers, body }), 202);
  await until(`scan ${id}`, async () => ((await fetch(`${api}/v1/ci/scans/${id}`, { headers })).status === 202 ? null : id));
  return id;
}

/** Runs a public scan to its end. @returns its token */
async function publicScan(api: string, url: string): Promise<string> {
  const request = { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ url, email: DEMO_EMAIL }) };
  const { token } = await answerOf<{ token: string }>(await fetch(`${api}/v1/public/scan-request`, request), 200);
  return until('the public scan', async () => {
    const { status } = await answerOf<{ status: string }>(await fetch(`${api}/v1/public/scan-status/${token}`), 200);
    return status === 'done' ? token : null;
  });
}

/** Stores a scan with a report of each size, as the operator does. @returns their ids */
async function storeReports(
  db: Parameters<typeof openStores>[0],
  environment: Readonly<Record<string, string>>,
  { id, url }: { id: string; url: string },
): Promise<Record<keyof typeof REPORT_SIZES, string>> {
  const { S3_ENDPOINT: endpoint, S3_BUCKET: bucket, S3_ACCESS_KEY_ID: accessKeyId, S3_SECRET_ACCESS_KEY: secretAccessKey } = environment;
  const objects = createReports({ endpoint: endpoint!, region: 'us-east-1', bucket: bucket!, accessKeyId: accessKeyId!, secretAccessKey: secretAccessKey! }); // prettier-ignore
  const rows = db.collection<Omit<ScanRow, 'id'> & { _id: string }>('scans');
  try {
    const original = await rows.findOne({ _id: id });
    const ids = { small: randomUUID(), large: randomUUID() };
    for (const size of ['small', 'large'] as const) {
      const report = reportWith(REPORT_SIZES[size].pages, REPORT_SIZES[size].causes, url);
      const { view, findings } = viewObjectsOf(report);
      await objects.writeFindings(ids[size], findings);
      await objects.writeView(ids[size], Buffer.from(JSON.stringify(view)));
      await rows.insertOne({ ...original!, _id: ids[size], outcome: outcomeOf(report) });
    }
    return ids;
  } finally {
    objects.close();
  }
}

/** Stores copies of a finished scan with other ids, a minute apart, on 20 sites. */
async function copyScans(db: Parameters<typeof openStores>[0], id: string, count: number): Promise<void> {
  const scans = db.collection<{ _id: string; createdAt: Date; site?: string; organisation: string }>('scans');
  const original = await scans.findOne({ _id: id, organisation: ORGANISATION });
  if (original === null) throw new Error(`scan ${id} is not stored`);
  for (let start = 0; start < count; start += BATCH)
    await scans.insertMany(
      Array.from({ length: Math.min(BATCH, count - start) }, (_, index) => {
        const at = new Date(original.createdAt.getTime() - (start + index + 1) * 60_000);
        const site = index % 20 === 0 ? original.site : `site-${index % 20}.example`;
        return { ...original, _id: randomUUID(), createdAt: at, updatedAt: at, finishedAt: at, ...(site !== undefined && { site }) };
      }),
    );
}
