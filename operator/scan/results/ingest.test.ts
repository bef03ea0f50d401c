import { expect } from 'chai';
import type { PodInput } from '../../../core/protocol/pod-messages.ts';
import { PDF, bytesOf, digestOf, reportOf } from '../../../test/support/scan-results.ts';
import { SCAN_ID, launched, scanWith } from '../../../test/support/scan-samples.ts';
import { reportKeys, type Reports } from '../../../stores/reports.ts';
import { examine } from './verify.ts';
import { createIngestion } from './ingest.ts';
import { withDefaults } from '../../../core/scan/options.ts';
import { podInput } from '../launch/secret.ts';

const scan = scanWith(launched());
const input: PodInput = podInput(
  { scan, scanId: SCAN_ID, organisation: 'acme', seconds: 600 },
  { allowTargets: [], denyTargets: [], workers: 2, pageBudgetMs: 30_000 },
  { uploads: { export: 'x', pdf: 'y' }, messages: null, deadline: new Date() },
);
const expected = { scanId: SCAN_ID, options: withDefaults(scan.spec), reserved: 5, pagesRequested: 5, said: { scanned: 2, failed: 0 } };

/** An object store that holds these. */
function holding(objects: Record<string, Uint8Array>): Reports {
  return {
    size: async (key: string) => objects[key]?.byteLength ?? null,
    read: async (key: string) => objects[key]!,
  } as unknown as Reports;
}
const stored = (bytes: Uint8Array) => ({
  kind: 'stored' as const,
  scanId: SCAN_ID,
  attempt: 'a',
  pages: { scanned: 2, failed: 0, total: 2 },
  export: digestOf(bytes),
  pdf: digestOf(PDF),
});

describe('ingest', () => {
  const keys = reportKeys(SCAN_ID);
  const ingestOf = (bytes: Uint8Array, memoryMib: number) =>
    createIngestion({
      reports: holding({ [keys.export]: bytes, [keys.pdf]: PDF }),
      bounds: { exportMaxBytes: 64e6, pdfMaxBytes: 64e6, memoryMib },
    }).ingest(stored(bytes), expected);

  it('takes in what is true', async () => {
    const report = reportOf(input);
    const taken = await ingestOf(bytesOf(report), 256);
    expect(taken).to.deep.equal({
      accepted: true,
      findings: {
        outcome: { score: report.score.value, violations: report.counts, pages: { scanned: 2, failed: 0, total: 2 } },
        verdict: report.scan.verdict,
        export: digestOf(bytesOf(report)),
        pdf: digestOf(PDF),
      },
    });
  });

  it('outlives an export that needs more memory than there is for it', async () => {
    const bomb = Buffer.from(`[${'[],'.repeat(8_000_000)}[]]`);
    const taken = await ingestOf(bomb, 48);
    expect(taken).to.deep.equal({ accepted: false, why: 'the export holds more values than its size allows.' });
  });

  it('does not take a store that is away for a lie', async () => {
    const away = { size: () => Promise.reject(new Error('away')) } as unknown as Reports;
    const ingestion = createIngestion({ reports: away, bounds: { exportMaxBytes: 1e6, pdfMaxBytes: 1e6, memoryMib: 64 } });
    const bytes = bytesOf(reportOf(input));
    const error = await ingestion.ingest(stored(bytes), expected).then(
      () => null,
      (reason: unknown) => reason,
    );
    expect(error).to.be.an('error').with.property('message', 'away');
  });

  it('refuses text that is not UTF-8 and depth without sense', () => {
    expect(examine(Buffer.from([0xff, 0xfe]), expected)).to.deep.include({ accepted: false });
    expect(examine(Buffer.from('['.repeat(100_000)), expected)).to.deep.include({ accepted: false });
    expect(examine(Buffer.from(`${'['.repeat(100_000)}${']'.repeat(100_000)}`), expected)).to.deep.include({ accepted: false });
  });
});
