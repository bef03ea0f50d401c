/**
 * One trace from the caller's span through API and operator to the pod. All processes have addresses of IPv6 alone: API, operator, pod,
 * MongoDB, NATS, object store, Kubernetes API, collector and site. A cluster has the addresses that it has.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { startCollector, type Collector, type SeenSpan } from '../support/collector.ts';
import { eventually, startWholeProduct, type WholeProduct } from './product.ts';

describe('tracing of a scan', function () {
  this.timeout(180_000);
  let collector: Collector;
  let product: WholeProduct;
  before(async () => {
    collector = await startCollector(process.env.KUBECONFIG ? process.env.CURBCUT_CLUSTER_HOST_IP : '::1');
    product = await startWholeProduct(
      {
        OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
        OTEL_EXPORTER_OTLP_HEADERS: 'x-tenant=curbcut',
        SCANNER_OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      },
      '::1',
    );
  });
  after(async () => {
    await product?.close();
    await collector?.close();
  });

  const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
  let id: string;
  const submit = async (flags: string, pages: number): Promise<string> => {
    const headers = { traceparent: `00-${traceId}-00f067aa0ba902b7-${flags}` };
    const body = JSON.stringify({ url: product.demoUrl, max_pages: pages });
    const answer = await product.request('/v1/ci/scans', { method: 'POST', headers, body });
    expect(answer.status).to.equal(202);
    const { scan_id: id } = (await answer.json()) as { scan_id: string };
    expect(await (await product.request(`/v1/ci/scans/${id}/events`)).text()).to.match(/"event":"complete"/);
    return id;
  };

  it('produces one trace: request, queue, run, pod with pages and uploads, ingest and settle', async () => {
    id = await submit('01', 2);
    const all = (): SeenSpan[] => collector.spans.filter((span) => span.traceId === traceId);
    await eventually(
      async () => all().map(({ name }) => name),
      (names) => ['POST /v1/ci/scans', 'settle', 'run', 'scan'].every((name) => names.includes(name)),
    );
    const spans = all();
    const one = (service: string, name: string): SeenSpan => {
      const found = spans.filter((span) => span.service === `curbcut-${service}` && span.name === name);
      expect(found, `${service}: ${name}`).to.have.length(1);
      return found[0]!;
    };
    const request = one('api', 'POST /v1/ci/scans');
    expect(request.parentSpanId).to.equal('00f067aa0ba902b7');
    expect(request.attributes).to.include({ 'http.route': '/v1/ci/scans', 'curbcut.scan_id': id });
    expect(Number(request.attributes['http.response.status_code'])).to.equal(202);
    for (const step of ['judge target and queue', 'create row', 'reserve credits', 'write resource', 'accept'])
      expect(one('api', step).parentSpanId, step).to.equal(request.spanId);

    expect(one('operator', 'queue').parentSpanId).to.equal(request.spanId);
    const run = one('operator', 'run');
    expect(run.parentSpanId).to.equal(request.spanId);
    expect(run.attributes).to.include({ 'curbcut.scan_id': id, 'curbcut.phase': 'done', 'curbcut.reason': 'Done' });
    for (const step of ['ingest', 'settle']) expect(one('operator', step).parentSpanId, step).to.equal(run.spanId);

    const pod = one('scanner', 'scan');
    expect(pod.parentSpanId).to.equal(run.spanId);
    for (const step of ['crawl', 'report', 'upload export', 'upload PDF'])
      expect(one('scanner', step).parentSpanId, step).to.equal(pod.spanId);
    expect(
      spans.filter(({ service, name, parentSpanId }) => service === 'curbcut-scanner' && name === 'page' && parentSpanId === pod.spanId),
    ).to.have.length(2);

    for (const span of spans) {
      expect(span.failed, span.name).to.equal(false);
      expect(BigInt(span.endTimeUnixNano) >= BigInt(span.startTimeUnixNano), span.name).to.equal(true);
    }
    expect(new Set(spans.map(({ spanId }) => spanId)).size).to.equal(spans.length);
  });

  it('gives its reports on IPv6 alone', async function () {
    if (process.env.KUBECONFIG) return this.skip();
    expect([product.url, product.demoUrl].map((url) => new URL(url).hostname)).to.deep.equal(['[::1]', '[::1]']);
    const [pdf, json] = [join(product.dir, 'report.pdf'), join(product.dir, 'report.json')];
    const { code, stderr } = await product.curbcut('report', id, '--pdf', pdf, '--export', json);
    expect(code, stderr).to.equal(0);
    expect(await readFile(pdf, 'latin1')).to.match(/^%PDF/);
    const { pages } = JSON.parse(await readFile(json, 'utf8')) as { pages: { url: string }[] };
    expect([...new Set(pages.map(({ url }) => new URL(url).hostname))]).to.deep.equal(['[::1]']);
  });
});
