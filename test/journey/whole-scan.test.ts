/** Whole scans by command line, REST and manifest, on the embedded stack or on the cluster of KUBECONFIG. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { Value } from 'typebox/value';
import type { PodInput } from '../../core/protocol/pod-messages.ts';
import { Report } from '../../report/schema/report.ts';
import type { AccessibilityScan } from '../../core/protocol/custom-resources.ts';
import { eventually, type WholeProduct } from './product.ts';
import { sharedProduct } from './shared-product.ts';

interface Submitted {
  scan_id: string;
  status_url: string;
  pages_reserved: number;
}
interface LedgerItem {
  kind: string;
  pages: number;
  balance: number;
  scan_id: string | null;
}
interface Result {
  scan_id: string;
  status: string;
  score: number | null;
  violations_count: number | null;
  passed: boolean | null;
  message: string | null;
  pages_charged: number | null;
}

describe('a whole scan', function () {
  this.timeout(180_000);
  let product: WholeProduct;
  /** The ID of the scan of the first test. */
  let first: string;
  before(async () => {
    product = await sharedProduct();
  });
  beforeEach(() => product.changeKey());

  const balance = async (): Promise<number> =>
    ((await (await product.request('/v1/billing/credits')).json()) as { balance: number }).balance;
  const submit = async (body: object): Promise<Submitted> => {
    const answer = await product.request('/v1/ci/scans', { method: 'POST', body: JSON.stringify(body) });
    const text = await answer.text();
    expect(answer.status, text).to.equal(202);
    return JSON.parse(text) as Submitted;
  };
  /** Waits for the last event of the scan's stream. @returns the scan's result */
  const waitForEnd = async (id: string): Promise<{ http: number; result: Result }> => {
    expect(await (await product.request(`/v1/ci/scans/${id}/events`)).text()).to.match(/"event":"complete"/);
    const answer = await product.request(`/v1/ci/scans/${id}`);
    return { http: answer.status, result: (await answer.json()) as Result };
  };
  const scans = async (): Promise<AccessibilityScan[]> =>
    (JSON.parse(await product.kubectl(['get', 'accessibilityscans', '-o', 'json'])) as { items: AccessibilityScan[] }).items;

  it('runs from the command line to verdict, PDF and export, and charges the tested pages', async () => {
    const before = await balance();
    const pdf = join(product.dir, 'report.pdf');
    const exported = join(product.dir, 'report.json');
    const scan = ['scan', product.demoUrl, '--max-pages', '4', '--fail-on', 'critical'];
    const { code, stdout, stderr } = await product.curbcut(...scan, '--pdf', pdf, '--export', exported, '--json');
    expect(code, stderr).to.equal(1); // the demo site has critical violations
    const result = JSON.parse(stdout) as Result;
    first = result.scan_id;
    expect(result.status, stdout).to.equal('done');
    expect(result.passed).to.equal(false);
    expect(result.message).to.match(/critical/);
    expect((await waitForEnd(first)).http).to.equal(422);
    const report: unknown = JSON.parse(await readFile(exported, 'utf8'));
    if (!Value.Check(Report, report)) throw new Error(JSON.stringify(Value.Errors(Report, report).slice(0, 5)));
    expect(report.counts.total).to.equal(result.violations_count);
    expect(report.score.value).to.equal(result.score);
    expect(report.score.pages_tested).to.equal(4);
    expect((await readFile(pdf)).subarray(0, 5).toString()).to.equal('%PDF-');
    expect(before - (await balance())).to.equal(4);
  });

  it('gives the same with several pods, each with a place of the queue and a Job of its own', async () => {
    const before = await balance();
    const { scan_id: id } = await submit({ url: product.demoUrl, max_pages: 4, parallelism: 3, fail_on_severity: 'critical' });
    await eventually(
      async () => {
        const listed = JSON.parse(await product.kubectl(['get', 'jobs', '-l', `curbcut.dev/scan-id=${id}`, '-o', 'json'])) as {
          items: object[];
        };
        return listed.items.length;
      },
      (count) => count === 3,
    );
    const { result } = await waitForEnd(id);
    const { result: alone } = await waitForEnd(first);
    expect([result.score, result.violations_count, result.message]).to.deep.equal([alone.score, alone.violations_count, alone.message]);
    expect(before - (await balance())).to.equal(4);
    expect((await scans()).find(({ metadata }) => metadata.labels?.['curbcut.dev/scan-id'] === id)?.status?.pods).to.equal(3);
  });

  it('runs from a manifest with a baseline, and charges the organisation of its namespace', async () => {
    const before = await balance();
    const spec = { url: product.demoUrl, maxPages: 2, thresholds: { maxNewViolations: 0 }, baseline: { scan: first } };
    const manifest = { apiVersion: 'curbcut.dev/v1', kind: 'AccessibilityScan', metadata: { name: 'from-manifest' }, spec };
    await product.kubectl(['apply', '-f', '-'], JSON.stringify(manifest));
    await product.kubectl(['wait', '--for=condition=Succeeded', 'accessibilityscan/from-manifest', '--timeout=120s']);
    const scan = (await scans()).find(({ metadata }) => metadata.name === 'from-manifest')!;
    expect(scan.status).to.include({ phase: 'done', passed: true });
    expect(scan.status!.pages).to.include({ reserved: 2, scanned: 2 });
    expect(scan.status!.baseline).to.deep.include({ scanId: first });
    expect(scan.status!.baseline!.difference).to.include({ new: 0, fixed: 0 });
    expect(before - (await balance())).to.equal(2);
    const { result } = await waitForEnd(scan.metadata.uid!);
    expect(String(result.score)).to.equal(scan.status!.score);
  });

  it('checks one page of a scan again from the command line, for one credit', async () => {
    const before = await balance();
    const { code, stdout, stderr } = await product.curbcut('check', product.demoUrl, '--with', first, '--json');
    expect(code, stderr).to.equal(1);
    const { baseline, passed } = JSON.parse(stdout) as {
      baseline: { check: { answer: string; before: number; left: number } };
      passed: null;
    };
    expect(baseline.check).to.include({ answer: 'still_there', left: baseline.check.before });
    expect([passed, before - (await balance())]).to.deep.equal([null, 1]);
  });

  it('fails with the reason if the site is unreachable, and charges nothing', async () => {
    const before = await balance();
    const { scan_id: id } = await submit({ url: `http://${product.host}:1029/`, min_score: 50 });
    const { http, result } = await waitForEnd(id);
    expect({ http, status: result.status, passed: result.passed, score: result.score }).to.deep.equal({
      http: 422,
      status: 'failed',
      passed: false,
      score: null,
    });
    expect(result.message).to.match(/could not|refused|reach|connect/i);
    expect(await balance()).to.equal(before);
    const report = await product.request(`/v1/scans/${id}/report`);
    expect(report.status).to.equal(404);
  });

  /** Waits until the scan has tested a page. Its stream tells it at once. */
  const hasTested = async (id: string): Promise<void> => {
    const events = await product.request(`/v1/ci/scans/${id}/events`);
    let seen = '';
    for await (const chunk of events.body!) {
      seen += Buffer.from(chunk as Uint8Array).toString();
      if (/"pages_scanned":[1-9]/.test(seen)) return;
    }
  };

  it('is canceled from the command line, charged for the tested pages, and leaves a partial report', async () => {
    const before = await balance();
    const { scan_id: id } = await submit({ url: product.demoUrl, max_pages: 60, min_score: 1 });
    await hasTested(id);
    expect((await product.curbcut('cancel', id)).code).to.equal(0);
    const { http, result } = await waitForEnd(id);
    expect([http, result.status, result.passed]).to.deep.equal([422, 'canceled', false]);
    const charged = result.pages_charged!;
    expect(charged).to.be.within(1, 59);
    expect(await balance()).to.equal(before - charged);
    const { data } = (await (await product.request('/v1/billing/ledger?limit=3')).json()) as { data: LedgerItem[] };
    expect(data.map(({ kind, pages, balance: after, scan_id }) => [kind, pages, after, scan_id])).to.deep.equal([
      ['refund', 60 - charged, before - charged, id],
      ['settle', charged, before - 60, id],
      ['reserve', 60, before - 60, id],
    ]);
    const exported = join(product.dir, 'partial.json');
    const saved = await product.curbcut('report', id, '--export', exported);
    expect(saved.code, saved.stderr).to.equal(0);
    const report = JSON.parse(await readFile(exported, 'utf8')) as Report;
    expect([report.partial, report.score.pages_tested]).to.deep.equal([true, charged]);
  });

  it('has its request ID in the logs of API, operator and pod, and no secrets', async () => {
    const requestId = `trail-${Date.now()}`;
    const body = JSON.stringify({ url: `${product.demoUrl}/?token=of-the-caller`, max_pages: 1 });
    const answer = await product.request('/v1/ci/scans', { method: 'POST', headers: { 'X-Request-Id': requestId }, body });
    expect(answer.headers.get('x-request-id')).to.equal(requestId);
    const { scan_id: id } = (await answer.json()) as Submitted;
    await waitForEnd(id);
    const link = ((await (await product.request(`/v1/scans/${id}/report`)).json()) as { url: string }).url;
    const volume = '{.spec.template.spec.volumes[?(@.name=="input")].secret.secretName}';
    const secret = await product.kubectl(['get', 'job', `scan-${id}`, '-o', `jsonpath=${volume}`]);
    const uploads = await product.kubectl(['get', 'secret', secret.trim(), '-o', 'jsonpath={.data.scan\\.json}']);
    const input = JSON.parse(Buffer.from(uploads, 'base64').toString()) as PodInput;
    const signatures = [link, ...input.uploads.flatMap((slot) => [slot.export, slot.pdf, slot.result])].map((url) =>
      new URL(url).searchParams.get('X-Amz-Signature')!,
    );

    const logs = {
      api: await readFile(join(product.dir, 'api.log'), 'utf8'),
      operator: await eventually(
        () => readFile(join(product.dir, 'operator.log'), 'utf8'),
        (text) => text.includes(`"scan":"${id}"`) && text.includes('"phase":"done"'),
      ),
      pod: await product.kubectl(['logs', `job/scan-${id}`]),
    };
    for (const [name, text] of Object.entries(logs)) {
      const lines = text.trim().split('\n').map((line) => JSON.parse(line) as Record<string, unknown>); // prettier-ignore
      const trail = lines.filter((line) => line.request === requestId);
      expect(
        trail.filter(({ scan }) => scan === id),
        name,
      ).to.have.length.above(0);
      if (name === 'pod') expect(trail).to.have.length(lines.length);
      for (const line of lines) expect(line, name).not.to.have.any.keys('requestId', 'scanId', 'error');
      const given = input.messages === undefined ? [] : [input.messages.jwt, input.messages.seed];
      for (const secret of [...(await product.secrets()), ...signatures, ...given])
        expect(text.includes(secret), `a secret in the log of ${name}`).to.equal(false);
      expect(text, name).not.to.match(
        /X-Amz-Signature|X-Amz-Credential|\bS[AUO][A-Z2-7]{56}\b|\beyJ[\w-]{20,}\.|BEGIN [A-Z ]*(SEED|KEY|JWT)/,
      );
    }
  });

  it('is counted in the metrics of API and operator', async () => {
    const scrape = async (url: string): Promise<string> => (await fetch(`${url}/metrics`)).text();
    const value = (text: string, name: string): number =>
      Number(
        text
          .split('\n')
          .find((line) => line.startsWith(`${name} `))
          ?.split(' ')[1] ?? 0,
      );
    const api = await scrape(product.processes.apiProbesUrl);
    for (const path of ['/metrics', '/readyz']) expect((await fetch(product.url + path)).status, path).to.equal(404);
    const operator = await scrape(product.processes.operatorUrl);
    expect(value(api, 'curbcut_credits_total{operation="reserved"}')).to.be.greaterThan(0);
    expect(value(operator, 'curbcut_credits_total{operation="spent"}')).to.be.greaterThan(0);
    expect(value(operator, 'curbcut_pages_total{outcome="tested"}')).to.be.greaterThan(0);
    for (const text of [api, operator]) {
      expect(value(text, 'curbcut_dependency_up{dependency="mongodb"}')).to.equal(1);
      for (const [, name] of text.matchAll(/^# TYPE (\S+)/gm)) expect(name).to.match(/^curbcut_/);
    }
  });

  it('finishes if the operator is killed during the scan, and is charged once', async () => {
    const before = await balance();
    const { scan_id: id } = await submit({ url: product.demoUrl, max_pages: 5 });
    await hasTested(id);
    await product.processes.crash('operator');
    const { result } = await waitForEnd(id);
    expect(result.status).to.equal('done');
    await eventually(balance, (now) => now === before - 5);
  });
});
