/** Whole scans by command line, REST and manifest, on the embedded stack or on the cluster of KUBECONFIG. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { Value } from 'typebox/value';
import type { PodInput } from '../../core/protocol/pod-messages.ts';
import { Report } from '../../report/schema/report.ts';
import type { AccessibilityScan } from '../../core/protocol/custom-resources.ts';
import { eventually, startWholeProduct, type WholeProduct } from './product.ts';

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
  status: string;
  score: number | null;
  violations_count: number | null;
  passed: boolean | null;
  message: string | null;
  report_url: string | null;
}

describe('a whole scan', function () {
  this.timeout(180_000);
  let product: WholeProduct;
  before(async () => {
    product = await startWholeProduct();
  });
  after(async () => {
    await product?.close();
  });
  beforeEach(() => product.changeKey());

  it('of a test key costs nothing, and says so', async () => {
    const issue = await product.request('/v1/api-keys', { method: 'POST', body: JSON.stringify({ name: 'tests', test: true }) });
    const { key } = (await issue.json()) as { key: string };
    const asTest = (path: string, body?: object) =>
      product.request(path, { headers: { 'X-API-Key': key }, ...(body && { method: 'POST', body: JSON.stringify(body) }) });
    const before = await balance();
    const { scan_id: id } = (await (await asTest('/v1/ci/scans', { url: product.demoUrl, max_pages: 2 })).json()) as Submitted;
    expect(await (await asTest(`/v1/ci/scans/${id}/events`)).text()).to.match(/"event":"complete"/);
    const result = await (await asTest(`/v1/ci/scans/${id}`)).json();
    expect(result).to.deep.include({ status: 'done', test: true, pages_tested: 2, pages_charged: 0 });
    expect(await balance()).to.equal(before);
    const { data } = (await (await product.request('/v1/billing/ledger')).json()) as { data: LedgerItem[] };
    expect(data.filter(({ scan_id }) => scan_id === id)).to.deep.equal([]);
    const refused = await asTest('/v1/ci/scans', { url: 'https://example.com/' });
    expect(await refused.text()).to.include('test_key_target');
  });

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
  /** The pages that the message of a canceled scan says were charged. */
  const chargedBy = ({ message }: Result): number => {
    const said = /(Nothing|The page|The (\d+) pages)(?: tested until then)? (?:was|were) charged\./.exec(message ?? '');
    return said![1] === 'Nothing' ? 0 : Number(said![2] ?? 1);
  };
  const scans = async (): Promise<AccessibilityScan[]> =>
    (JSON.parse(await product.kubectl(['get', 'accessibilityscans', '-o', 'json'])) as { items: AccessibilityScan[] }).items;

  it('runs from the command line to verdict, PDF and export, and charges the tested pages', async () => {
    const before = await balance();
    const pdf = join(product.dir, 'report.pdf');
    const exported = join(product.dir, 'report.json');
    const { code, stdout, stderr } = await product.curbcut(
      'scan',
      product.demoUrl,
      '--max-pages',
      '4',
      '--fail-on',
      'critical',
      '--pdf',
      pdf,
      '--export',
      exported,
      '--json',
    );
    expect(code, stderr).to.equal(1); // the demo site has critical violations
    const result = JSON.parse(stdout) as Result & { violations_critical: number };
    expect(result.status).to.equal('done');
    expect(result.passed).to.equal(false);
    expect(result.message).to.match(/critical/);
    const report: unknown = JSON.parse(await readFile(exported, 'utf8'));
    if (!Value.Check(Report, report)) throw new Error(JSON.stringify(Value.Errors(Report, report).slice(0, 5)));
    expect(report.counts.total).to.equal(result.violations_count);
    expect(report.score.value).to.equal(result.score);
    expect(report.score.pages_tested).to.equal(4);
    expect((await readFile(pdf)).subarray(0, 5).toString()).to.equal('%PDF-');
    expect(before - (await balance())).to.equal(4);
  });

  it('is visible to kubectl get, describe and wait, and rejects a change of the URL with a message of the schema', async () => {
    const { scan_id: id } = await submit({ url: product.demoUrl, max_pages: 1 });
    const { http, result } = await waitForEnd(id);
    expect({ http, status: result.status, passed: result.passed }).to.deep.equal({ http: 200, status: 'done', passed: null });
    const [header, ...rows] = (await product.kubectl(['get', 'a11y'])).trim().split('\n');
    expect(header!.split(/\s{2,}/)).to.include.members(['NAME', 'URL', 'PHASE', 'SCORE', 'VIOLATIONS', 'PAGES', 'AGE']);
    expect(rows.find((row) => row.startsWith(`scan-${id}`))).to.match(/\bdone\b/);
    const described = await eventually(
      () => product.kubectl(['describe', 'accessibilityscan', `scan-${id}`]),
      (text) => /Events:[\s\S]*\bNormal\b/.test(text),
    );
    expect(described).to.match(/Phase:\s+done/);
    await product.kubectl(['wait', '--for=condition=Succeeded', `accessibilityscan/scan-${id}`, '--timeout=10s']);
    const refused = await product
      .kubectl(['patch', 'a11y', `scan-${id}`, '--type=merge', '-p', '{"spec":{"url":"https://example.org/"}}'])
      .then(
        () => 'accepted',
        (error: { stderr: string }) => error.stderr,
      );
    expect(refused).to.match(/cannot be changed/);
  });

  it('runs from a manifest, and charges the organisation of its namespace', async () => {
    const before = await balance();
    const manifest = `apiVersion: curbcut.dev/v1\nkind: AccessibilityScan\nmetadata: {name: from-manifest}\nspec: {url: "${product.demoUrl}/", maxPages: 2, thresholds: {minScore: 1}}\n`;
    await product.kubectl(['apply', '-f', '-'], manifest);
    await product.kubectl(['wait', '--for=condition=Succeeded', 'accessibilityscan/from-manifest', '--timeout=120s']);
    const scan = (await scans()).find(({ metadata }) => metadata.name === 'from-manifest')!;
    expect(scan.status).to.include({ phase: 'done', passed: true });
    expect(scan.status!.pages).to.include({ reserved: 2, scanned: 2 });
    expect(before - (await balance())).to.equal(2);
    const { result } = await waitForEnd(scan.metadata.uid!);
    expect(String(result.score)).to.equal(scan.status!.score);
  });

  it('streams the current state, progress, and a last event with the verdict', async () => {
    const { scan_id: id } = await submit({ url: product.demoUrl, max_pages: 2, min_score: 100 });
    const answer = await product.request(`/v1/ci/scans/${id}/events`);
    expect(answer.headers.get('content-type')).to.match(/^text\/event-stream/);
    const events = [...(await answer.text()).matchAll(/^data: (.*)$/gm)].map(
      (match) => JSON.parse(match[1]!) as { event: string; status: string; passed?: boolean },
    );
    expect(events.slice(0, -1).every(({ event }) => event === 'progress')).to.equal(true);
    expect(events.at(-1)).to.include({ event: 'complete', status: 'done', passed: false });
    const order = ['queued', 'crawling', 'scanning', 'aggregating', 'generating', 'done'];
    const phases = events.map(({ status }) => order.indexOf(status));
    expect(phases).to.deep.equal([...phases].sort((one, other) => one - other));
  });

  it('answers 422 with the result if a threshold is missed, and links to both reports', async () => {
    const { scan_id: id } = await submit({ url: product.demoUrl, max_pages: 1, max_violations: 0, min_score: 100 });
    const { http, result } = await waitForEnd(id);
    expect(http).to.equal(422);
    expect(result.message).to.match(/score is .*below the minimum of 100/);
    for (const path of [`/v1/scans/${id}/report`, `/v1/scans/${id}/report/json`]) {
      const link = (await (await product.request(path)).json()) as { url: string; expires_in: number };
      const file = await fetch(link.url);
      expect(file.status).to.equal(200);
      expect((await file.arrayBuffer()).byteLength).to.be.greaterThan(1000);
    }
  });

  it('fails with the reason if the site is unreachable, and charges nothing', async () => {
    const before = await balance();
    const { scan_id: id } = await submit({ url: `http://${product.host}:9/`.replace(':9/', ':1029/'), min_score: 50 });
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

  it('is canceled over REST, charged for the tested pages, and does not pass', async () => {
    const before = await balance();
    const { scan_id: id } = await submit({ url: product.demoUrl, max_pages: 60, min_score: 1 });
    const events = await product.request(`/v1/ci/scans/${id}/events`);
    let seen = '';
    for await (const chunk of events.body!) {
      seen += Buffer.from(chunk as Uint8Array).toString();
      if (/"pages_scanned":[1-9]/.test(seen)) break;
    }
    const cancel = () => product.request(`/v1/ci/scans/${id}/cancel`, { method: 'POST' });
    expect((await cancel()).status).to.equal(202);
    const { http, result } = await waitForEnd(id);
    expect([http, result.status, result.passed]).to.deep.equal([422, 'canceled', false]);
    expect(chargedBy(result)).to.be.within(1, 59);
    expect(await balance()).to.equal(before - chargedBy(result));
    const { data } = (await (await product.request('/v1/billing/ledger?limit=3')).json()) as { data: LedgerItem[] };
    expect(data.map(({ kind, pages, balance: after, scan_id }) => [kind, pages, after, scan_id])).to.deep.equal([
      ['refund', 60 - chargedBy(result), before - chargedBy(result), id],
      ['settle', chargedBy(result), before - 60, id],
      ['reserve', 60, before - 60, id],
    ]);
    const list = (await (await product.request('/v1/ci/scans?status=canceled&limit=1')).json()) as { data: object[] };
    expect(list.data).to.have.length(1);
    const { options: _, ...listed } = result as Result & { options: object };
    expect(list.data[0]).to.deep.include(listed);
    expect((await cancel()).status).to.equal(409);
  });

  it('is canceled by spec.cancel, and costs no more than the tested pages', async () => {
    const before = await balance();
    const { scan_id: id } = await submit({ url: product.demoUrl, max_pages: 60 });
    await eventually(scans, (items) => items.some(({ metadata, status }) => metadata.name === `scan-${id}` && status?.phase !== undefined));
    await product.kubectl(['patch', 'a11y', `scan-${id}`, '--type=merge', '-p', '{"spec":{"cancel":true}}']);
    const { result } = await waitForEnd(id);
    expect(result.status).to.equal('canceled');
    expect(await balance()).to.equal(before - chargedBy(result));
  });

  it('ends as canceled if its resource is deleted, and costs no more than the tested pages', async () => {
    const before = await balance();
    const { scan_id: id } = await submit({ url: product.demoUrl, max_pages: 60 });
    await eventually(scans, (items) => items.some(({ metadata }) => metadata.name === `scan-${id}`));
    await product.kubectl(['delete', 'a11y', `scan-${id}`, '--timeout=60s']);
    const { result } = await waitForEnd(id);
    expect(result.status).to.equal('canceled');
    expect(await balance()).to.equal(before - chargedBy(result));
  });

  it('is rejected with 503 while the queue is paused; queued scans run afterwards', async () => {
    const queue = (paused: boolean): Promise<string> =>
      product.kubectl(
        ['apply', '-f', '-'],
        `apiVersion: curbcut.dev/v1\nkind: ScanQueue\nmetadata: {name: default}\nspec: {paused: ${paused}}\n`,
      );
    await queue(true);
    try {
      const refused = await eventually(
        () => product.request('/v1/ci/scans', { method: 'POST', body: JSON.stringify({ url: product.demoUrl, max_pages: 1 }) }),
        ({ status }) => status !== 202,
      );
      expect(refused.status).to.equal(503);
      expect(Number(refused.headers.get('retry-after'))).to.be.greaterThan(0);
      expect(((await refused.json()) as { detail: string }).detail).to.equal('queue_paused');
      await product.kubectl(
        ['apply', '-f', '-'],
        `apiVersion: curbcut.dev/v1\nkind: AccessibilityScan\nmetadata: {name: waits}\nspec: {url: "${product.demoUrl}/", maxPages: 1}\n`,
      );
      await product.kubectl(['wait', '--for=condition=Admitted=False', 'a11y/waits', '--timeout=60s']);
      expect(
        (await scans()).find(({ metadata }) => metadata.name === 'waits')!.status!.conditions!.find(({ type }) => type === 'Admitted')!
          .message,
      ).to.match(/paused/);
    } finally {
      await queue(false);
    }
    await product.kubectl(['wait', '--for=condition=Succeeded', 'a11y/waits', '--timeout=120s']);
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
    const { scan_id: id } = await submit({ url: product.demoUrl, max_pages: 10 });
    await eventually(scans, (items) =>
      items.some(({ metadata, status }) => metadata.name === `scan-${id}` && ['crawling', 'scanning'].includes(status?.phase ?? '')),
    );
    await product.processes.crash('operator');
    const { result } = await waitForEnd(id);
    expect(result.status).to.equal('done');
    await eventually(balance, (now) => now === before - 10);
  });
});
