/** Sample results of a scanner: an export, a PDF and their digests. */
import { createHash } from 'node:crypto';
import type { PodInput } from '../../core/protocol/pod-messages.ts';
import type { ChosenBaseline } from '../../report/diff/baseline.ts';
import type { ReportPage, ReportViolation } from '../../report/schema/page.ts';
import type { Report } from '../../report/schema/report.ts';
import { emptyTally, pageScore } from '../../report/results/score.ts';
import { buildReport } from '../../report/results/build.ts';
import { sampleNode, samplePage, sampleUntested, sampleViolation } from '../report/samples.ts';

export const violations: ReportViolation[] = [
  sampleViolation('image-alt', 'critical', 'Images must have alternative text', [sampleNode('<img src="a.png">', 'img:nth-child(1)')]),
  sampleViolation('color-contrast', 'serious', 'Elements must meet minimum color contrast', [
    sampleNode('<p>faint</p>', 'p:nth-child(1)'),
    sampleNode('<p>fainter</p>', 'p:nth-child(2)'),
  ]),
];

/** Two tested pages, the first with three violations or those that are given, and the given number of untested pages. */
export function pagesOf(url: string, untested = 0, found = violations): ReportPage[] {
  const first = samplePage(url, 'First', found);
  const second = samplePage(`${url}second`, 'Second', []);
  for (const page of [first, second]) {
    for (const impact of ['critical', 'serious', 'moderate', 'minor'] as const)
      page.rules[impact] = { ...emptyTally()[impact], ...page.rules[impact] };
    page.score = pageScore(page.rules);
  }
  return [first, second, ...Array.from({ length: untested }, (_, index) => sampleUntested(`${url}lost/${index}`, 'timeout', null))];
}

/** The report of a successful scan. */
export function reportOf(input: PodInput, pages = pagesOf(input.options.url), baseline?: ChosenBaseline, partial = false): Report {
  return buildReport({
    input,
    pages,
    partial,
    tools: { curbcut: '0.1.0', axe_core: '4.14.1', browser: 'Chromium 156' },
    startedAt: new Date('2026-03-02T09:14:02Z'),
    finishedAt: new Date('2026-03-02T09:14:09Z'),
    ...(baseline && { baseline }),
  });
}

/** The report of a scan that was canceled when the first two pages were tested. */
export const partialReportOf = (input: PodInput): Report => reportOf(input, pagesOf(input.options.url), undefined, true);

/** A JPEG file without an image: only what says its size. */
export const jpegOf = (width: number, height: number): Buffer =>
  Buffer.from([0xff, 0xd8, 0xff, 0xc0, 0, 11, 8, height >> 8, height & 255, width >> 8, width & 255, 1, 0, 0, 0, 0xff, 0xd9]);

export const bytesOf = (report: unknown): Uint8Array => Buffer.from(JSON.stringify(report));

/** The size and digest that a pod announces for an object. */
export const digestOf = (bytes: Uint8Array) => ({ bytes: bytes.byteLength, sha256: createHash('sha256').update(bytes).digest('hex') });
export const PDF = Buffer.from('%PDF-1.7\n% a report\n%%EOF\n');
