import { spawnSync } from 'node:child_process';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect } from 'chai';
import { startCollector } from '../test/support/collector.ts';
import { createFakeLogger } from '../test/support/fake-logger.ts';
import { createOtlpTracer } from './otlp.ts';
import { inSpan, type Tracer } from './tracing.ts';

const ROOT = join(import.meta.dirname, '..');
const tracerTo = (
  endpoint: string,
  rest: { headers?: string | (() => string) } = {},
): { tracer: Tracer; lines: { level: string; message: string }[] } => {
  const logger = createFakeLogger();
  return {
    tracer: createOtlpTracer({ endpoint, service: 'curbcut-test', version: '1.2.3', logger, gatherMs: 60_000, ...rest }),
    lines: logger.lines,
  };
};

describe('OTLP exporter', () => {
  it('sends the times, attributes, parent and failure of each span', async () => {
    const collector = await startCollector();
    try {
      let headers = 'authorization=Basic%20Yg==';
      const { tracer } = tracerTo(`${collector.url}/`, { headers: () => headers });
      // Rotated before the first export.
      headers = 'authorization=Basic%20YQ==, x-tenant=a';
      const at = new Date('2026-03-02T10:00:00.250Z');
      const above = tracer.start('above', {
        at,
        kind: 'server',
        attributes: { text: 'a', whole: 3, part: 0.5, yes: true },
        id: '00f067aa0ba902b7',
      });
      const failure = await inSpan(tracer, 'part', { parent: above.traceparent }, () => Promise.reject(new Error('broken'))).catch(
        (error: Error) => error.message,
      );
      expect(failure).to.equal('broken');
      above.end({ at: new Date('2026-03-02T10:00:01Z') });
      above.end({ error: 'only the first end counts' });
      await tracer.close();
      expect(collector.headers()).to.include({ authorization: 'Basic YQ==', 'x-tenant': 'a', 'content-type': 'application/json' });
      const [part, whole] = collector.spans as [(typeof collector.spans)[0], (typeof collector.spans)[0]];
      expect(collector.spans).to.have.length(2);
      expect(whole).to.deep.include({
        service: 'curbcut-test',
        name: 'above',
        spanId: '00f067aa0ba902b7',
        startTimeUnixNano: '1772445600250000000',
        endTimeUnixNano: '1772445601000000000',
        attributes: { text: 'a', whole: '3', part: 0.5, yes: true },
        failed: false,
      });
      expect(whole).not.to.have.property('parentSpanId');
      expect(part).to.include({ name: 'part', traceId: whole.traceId, parentSpanId: whole.spanId, failed: true });
    } finally {
      await collector.close();
    }
  });

  it('records nothing of a trace that its caller does not sample, and tells those below', async () => {
    const collector = await startCollector();
    try {
      const { tracer } = tracerTo(collector.url);
      const parent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00';
      const unsampled = tracer.start('unsampled', { parent });
      expect(unsampled.traceparent).to.equal(parent);
      unsampled.end();
      tracer.start('sampled').end();
      await tracer.close();
      expect(collector.spans.map(({ name }) => name)).to.deep.equal(['sampled']);
    } finally {
      await collector.close();
    }
  });

  it('does not follow a redirect, which would carry its headers to another origin', async () => {
    const other = await startCollector();
    const moved = createServer((_request, response) => response.writeHead(307, { location: `${other.url}/v1/traces` }).end());
    await new Promise<void>((resolve) => moved.listen(0, '127.0.0.1', resolve));
    try {
      const { tracer, lines } = tracerTo(`http://127.0.0.1:${(moved.address() as AddressInfo).port}`, { headers: 'api-key=secret' });
      tracer.start('x').end();
      await tracer.close();
      expect(other.spans).to.deep.equal([]);
      expect(lines.map(({ level }) => level)).to.deep.equal(['warn']);
    } finally {
      moved.close();
      await other.close();
    }
  });

  it('drops spans and logs one warning if the collector is down', async () => {
    const { tracer, lines } = tracerTo('http://127.0.0.1:1');
    for (let count = 0; count < 5_000; count += 1) tracer.start('x').end();
    await tracer.close();
    expect(lines.map(({ level, message }) => [level, message])).to.deep.equal([
      ['warn', 'span export failed; spans are dropped until the collector responds'],
    ]);
  });
});

describe('process without a collector', () => {
  /** Prints the URL of each module that a program loads. */
  const WATCH = `data:text/javascript,${encodeURIComponent(`
    import { registerHooks } from 'node:module';
    registerHooks({ load(url, context, next) { process.stdout.write(url + '\\n'); return next(url, context); } });
  `)}`;
  for (const main of ['operator/main.ts', 'scanner-image/main.ts'])
    it(`does not load the OTLP exporter: ${main}`, () => {
      const { PATH, NODE_COMPILE_CACHE } = process.env;
      const { stdout } = spawnSync(process.execPath, ['--import', WATCH, join(ROOT, main)], {
        env: { PATH, NODE_COMPILE_CACHE, SCAN_INPUT: '/nowhere' },
        encoding: 'utf8',
      });
      expect(stdout).to.include('platform/open-tracer.ts');
      // The metrics client imports @opentelemetry/api, which only defines interfaces.
      expect(stdout).not.to.match(/otlp\.ts|@opentelemetry\/(?!api\/)/);
    });
});
