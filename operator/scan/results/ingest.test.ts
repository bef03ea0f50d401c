import { createHash } from 'node:crypto';
import { expect } from 'chai';
import type { PodStored } from '../../../core/protocol/pod-messages.ts';
import { contextOf, type Parts } from '../../../test/support/operator-context.ts';
import { rootCauseFingerprint } from '../../../report/causes/root-causes.ts';
import { type ReportViolation, type TestedPage, testedPages } from '../../../report/schema/page.ts';
import { emptyTally } from '../../../report/results/score.ts';
import type { Report } from '../../../report/schema/report.ts';
import { buildReport } from '../../../report/results/build.ts';
import type { ChosenKnownIssues } from '../../../core/scan/known-issues.ts';
import type { PodInput } from '../../../core/protocol/pod-messages.ts';
import { PDF, bytesOf, digestOf, jpegOf, pagesOf, partialReportOf, reportOf } from '../../../test/support/scan-results.ts';
import { storedBy, SCAN_ID, launched, scanWith } from '../../../test/support/scan-samples.ts';
import { incomingKeys, type Reports } from '../../../stores/reports.ts';
import { reportKeys } from '../../../report/schema/objects.ts';
import { viewObjectsOf } from '../../../report/view/view.ts';
import { readBaseline } from '../../../report/diff/baseline.ts';
import { type Expectation, handedOver, verified, verifyExport } from './verify.ts';
import { ingest } from './ingest.ts';
import { createVerifier } from './verifier.ts';
import { withDefaults } from '../../../core/scan/options.ts';
import { podInput } from '../launch/launch.ts';

const scan = scanWith(launched());
const input: PodInput = podInput(
  { scan, scanId: SCAN_ID, organisation: 'acme', seconds: 600, secretName: 'scan-input' },
  { allowTargets: [], denyTargets: [], workers: 2, pageBudgetMs: 30_000, exportMaxBytes: 64_000_000 },
  { uploads: [], cancelMark: 'http://objects/mark', messages: null, deadline: new Date(), uploadDeadline: new Date() },
);
const expected = {
  scanId: SCAN_ID,
  options: withDefaults(scan.spec),
  reserved: 5,
  announced: { scanned: 2, failed: 0 },
};
const slot = { attempt: 0, shard: 0 };
const from = incomingKeys(SCAN_ID, slot);
const to = reportKeys(SCAN_ID);

const etagOf = (bytes: Uint8Array) => createHash('md5').update(bytes).digest('hex');

/** An object store with the given objects. @param onCopy called before each copy */
function holding(objects: Record<string, Uint8Array>, onCopy = () => {}): Pick<Reports, 'read' | 'copy' | 'writeView' | 'writeFindings'> {
  return {
    async read(key, maxBytes) {
      const bytes = objects[key];
      if (bytes === undefined) return { ok: false, reason: 'missing' };
      return bytes.byteLength > maxBytes ? { ok: false, reason: 'too_large' } : { ok: true, bytes, etag: etagOf(bytes) };
    },
    async copy(source, target, { etag }) {
      onCopy();
      const bytes = objects[source];
      if (bytes === undefined) return { ok: false, reason: 'missing' };
      if (etagOf(bytes) !== etag) return { ok: false, reason: 'changed' };
      objects[target] = bytes;
      return { ok: true };
    },
    async writeView(scanId, bytes) {
      objects[reportKeys(scanId).view] = bytes;
    },
    async writeFindings(scanId, bytes) {
      objects[reportKeys(scanId).findings] = bytes;
    },
  };
}
const judge = (bytes: Uint8Array) => verifyExport({ export: bytes, pictures: null }, expected);
const stored = (bytes: Uint8Array) => ({ ...storedBy(0), export: digestOf(bytes), pdf: digestOf(PDF) });

const BASELINE = { scanId: 'main', optional: false };
const BEFORE = reportKeys('main').export;

describe('ingestion', () => {
  /** Verifies in this thread, because the start of a thread takes longer than the verification. */
  const verifier: Parts['verifier'] = { verify: async (objects, wanted) => verified(objects, wanted) };
  const settings = { ingest: { exportMaxBytes: 64e6, memoryMib: 256 } };
  const { signal } = new AbortController();
  /** Ingests what a pod has announced. */
  const ingestOf = (parts: Parts, announced: PodStored, wanted: Expectation = expected) =>
    ingest(contextOf({ verifier, settings, ...parts }), { stored: announced, slot, expected: wanted, isWanted: () => true }, signal);

  it('verifies the comparison with the baseline, which it reads itself', async () => {
    const before = bytesOf(reportOf(input, pagesOf(input.options.url, 0, [])));
    const compared = readBaseline(BASELINE, { ok: true, bytes: before });
    const report = reportOf(input, pagesOf(input.options.url), compared);
    expect(report.baseline).to.deep.include({ new: 3, fixed: 0 });
    const results = async (objects: Record<string, Uint8Array>, bytes = bytesOf(report), wanted: Expectation['baseline'] = BASELINE) => {
      const reports = holding({ [from.export]: bytes, [from.pdf]: PDF, ...objects });
      return ingestOf({ reports }, stored(bytes), { ...expected, ...(wanted && { baseline: wanted }) });
    };
    const difference = { new: 3, onNewPages: 0, fixed: 0, unchanged: 0, notTested: 0 };
    const accepted = await results({ [BEFORE]: before });
    expect(accepted.ok && accepted.result.outcome.baseline).to.deep.equal({ ...BASELINE, difference });
    const refusal = { ok: false, reason: 'the comparison with the baseline does not follow from both scans.' };
    // The pod says that its own faults are old, that it was not compared, or that it could not be.
    const old = bytesOf({ ...report, baseline: { ...report.baseline!, new: 0, unchanged: 3 } });
    expect(await results({ [BEFORE]: before }, old)).to.deep.equal(refusal);
    expect(await results({ [BEFORE]: before }, bytesOf(reportOf(input)))).to.include({ ok: false });
    const missing = bytesOf(reportOf(input, pagesOf(input.options.url), readBaseline(BASELINE, { ok: false, reason: 'missing' })));
    expect(await results({ [BEFORE]: before }, missing)).to.include({ ok: false });
    const gone = await results({}, missing);
    expect(gone.ok && gone.result.outcome.baseline).to.deep.equal({ ...BASELINE, problem: 'not_stored' });
    const none = await results({}, bytesOf(reportOf(input, pagesOf(input.options.url), { optional: true, problem: 'not_found' })), {
      optional: true,
      problem: 'not_found',
    });
    expect(none.ok && none.result.outcome.baseline).to.deep.equal({ optional: true, problem: 'not_found' });
  });

  it('gets the view and the findings from the thread without a copy', () => {
    const message = verified({ export: bytesOf(reportOf(input)), pictures: null }, expected);
    const bytes = message.view!.findings.byteLength;
    const received = structuredClone(message, { transfer: handedOver(message) });
    expect(received.view!.findings.byteLength).to.equal(bytes);
    expect(message.view!.findings.byteLength + message.view!.json.byteLength, 'what the thread still has').to.equal(0);
  });

  it('verifies the decisions with those that were chosen at the launch', () => {
    const [first, ...others] = testedPages(pagesOf(input.options.url));
    const pages = [{ ...first!, violations: [], needs_review: first!.violations, rules: emptyTally(), score: 100 }, ...others];
    const { review_groups } = reportOf(input, pages);
    const decided = (kind: 'fine' | 'fault'): ChosenKnownIssues => ({
      at: '2026-03-02T09:14:00.000Z',
      issues: review_groups.slice(0, 1).map(({ fingerprint }) => ({
        ...{ id: fingerprint, kind, fingerprint, reason: 'Seen', owner: 'team' },
        expiresAt: '2026-06-01T00:00:00.000Z',
      })),
      leftOut: 0,
    });
    const verify = (made?: ChosenKnownIssues, chosen?: ChosenKnownIssues) => {
      const report = reportOf({ ...input, ...(made && { knownIssues: made }) }, pages);
      const objects = { export: bytesOf(report), pictures: null };
      return verified(objects, { ...expected, ...(chosen && { knownIssues: chosen }) });
    };
    for (const kind of ['fine', 'fault'] as const) {
      const { judgement, issueExamples } = verify(decided(kind), decided(kind));
      expect(judgement.ok && judgement.outcome.known, JSON.stringify(judgement)).to.deep.include({
        matched: 1,
        scoreWithoutDecisions: 100,
      });
      expect(Object.values(issueExamples).map(({ rule }) => rule)).to.deep.equal([review_groups[0]!.rule]);
    }
    const refusal = { ok: false, reason: 'the decisions about elements to review are not those of the site.' };
    for (const made of [undefined, decided('fault')]) expect(verify(made, decided('fine')).judgement).to.deep.equal(refusal);
    expect(verify(decided('fine')).judgement).to.deep.equal(refusal);
  });

  it('verifies the known issues with those that were chosen at the launch', () => {
    const plain = reportOf(input);
    const known = (fingerprints: string[]): ChosenKnownIssues => ({
      at: '2026-03-02T09:14:00.000Z',
      issues: fingerprints.map((fingerprint) => ({
        id: fingerprint,
        fingerprint,
        reason: 'Known',
        owner: 'team',
        expiresAt: '2026-06-01T00:00:00.000Z',
      })),
      leftOut: 0,
    });
    const all = plain.groups.map(({ fingerprint }) => fingerprint);
    const [chosen, invented] = [known(all.slice(0, 1)), known(all)];
    const report = reportOf({ ...input, knownIssues: chosen });
    const verify = (made: Report, knownIssues?: ChosenKnownIssues) =>
      verifyExport({ export: bytesOf(made), pictures: null }, { ...expected, ...(knownIssues && { knownIssues }) });
    const accepted = verify(report, chosen);
    expect(accepted.ok && accepted.outcome.known).to.deep.include({ matched: 1, unmatched: 0 });
    expect(accepted.ok && accepted.verdict).to.deep.equal(report.scan.verdict);
    const refusal = { ok: false, reason: 'the known issues are not those of the site, or do not follow from the violations.' };
    // The pod accepts more than the organisation, or hides what it accepts, or counts wrongly.
    const lies = [
      reportOf({ ...input, knownIssues: invented }),
      plain,
      { ...report, known_issues: { ...report.known_issues!, violations_new_or_open: { ...report.counts, total: 0 } } },
    ];
    for (const lie of lies) expect(verify(lie, chosen)).to.deep.equal(refusal);
    expect(verify(report)).to.deep.equal(refusal);
    const unmarked = { ...report, groups: plain.groups };
    expect(verify(unmarked, chosen)).to.deep.equal({ ok: false, reason: 'the root causes do not follow from the violations.' });
    const passed = { ...report, scan: { ...report.scan, verdict: { passed: !report.scan.verdict.passed, message: null } } };
    expect(verify(passed, chosen)).to.have.property('ok', false);
  });

  it('accepts a partial export only of a canceled scan, and only as not passed', () => {
    const thresholds = { minScore: 1 };
    const judged = { ...input, options: { ...input.options, thresholds } };
    const wanted = { ...expected, options: { ...expected.options, thresholds } };
    const verify = (report: Report, canceled: boolean) =>
      verifyExport({ export: bytesOf(report), pictures: null }, { ...wanted, canceled });
    const report = partialReportOf(judged);
    const accepted = verify(report, true);
    expect(accepted).to.deep.include({ ok: true, partial: true, verdict: report.scan.verdict });
    expect(report.scan.verdict.passed).to.equal(false);
    expect(verify(report, false)).to.deep.equal({ ok: false, reason: 'the export is partial, but the scan was not canceled.' });
    // A scan that had tested all its pages when it was canceled is judged as any other.
    expect(verify(reportOf(judged), true)).to.deep.include({ ok: true, partial: false, verdict: { passed: true, message: null } });
    const passed = { ...report, scan: { ...report.scan, verdict: { passed: true, message: null } } };
    expect(verify(passed, true)).to.have.property('ok', false);
  });

  it('accepts correct results and copies them to their final keys', async () => {
    const report = reportOf(input);
    const bytes = bytesOf(report);
    const objects: Record<string, Uint8Array> = { [from.export]: bytes, [from.pdf]: PDF };
    const ingested = await ingestOf({ reports: holding(objects) }, stored(bytes));
    expect(ingested).to.deep.equal({
      ok: true,
      result: {
        partial: false,
        outcome: { score: report.score.value, violations: report.counts, pages: { scanned: 2, failed: 0, total: 2 } },
        verdict: report.scan.verdict,
        export: digestOf(bytes),
        pdf: digestOf(PDF),
      },
      unmatchedIssues: [],
      issueExamples: {},
    });
    expect(objects[to.export]).to.equal(bytes);
    expect(objects[to.pdf]).to.equal(PDF);
    const { view, findings } = viewObjectsOf(report);
    expect(JSON.parse(Buffer.from(objects[to.view]!).toString())).to.deep.equal(view);
    expect(Buffer.from(objects[to.findings]!).equals(findings)).to.equal(true);
  });

  describe('with pictures', () => {
    const picture = jpegOf(320, 200);
    const pictures = Buffer.concat([picture, picture]);
    const withPictures = (edit: (report: Report) => void = () => undefined): Report => {
      const report = reportOf(input);
      report.pictures = report.groups.slice(0, 2).map(({ fingerprint }, at) => ({
        fingerprint,
        offset: at * picture.length,
        bytes: picture.length,
        width: 320,
        height: 200,
        page_url: report.pages[0]!.url,
      }));
      edit(report);
      return report;
    };
    /** The second picture is one of the page. */
    const withPage = (edit: (picture: NonNullable<Report['page_pictures']>[number]) => void = () => undefined): Report =>
      withPictures((report) => {
        const { fingerprint: _, ...picture } = report.pictures.pop()!;
        edit(picture);
        report.page_pictures = [picture];
      });
    const ingest = async (report: Report, object: Uint8Array | null, announced = object) => {
      const bytes = bytesOf(report);
      const objects: Record<string, Uint8Array> = { [from.export]: bytes, [from.pdf]: PDF };
      if (object !== null) objects[from.pictures] = object;
      const message = { ...stored(bytes), ...(announced !== null && { pictures: digestOf(announced) }) };
      const ingested = await ingestOf({ reports: holding(objects) }, message);
      return { ingested, objects };
    };

    it('copies them to their final key', async () => {
      const { ingested, objects } = await ingest(withPictures(), pictures);
      expect(ingested).to.have.property('ok', true);
      expect(objects[to.pictures]).to.equal(pictures);
    });

    it('copies them with those of pages, which the view places', async () => {
      const { ingested, objects } = await ingest(withPage(), pictures);
      expect(ingested).to.have.property('ok', true);
      const { page_pictures: places } = JSON.parse(Buffer.from(objects[to.view]!).toString()) as ReturnType<typeof viewObjectsOf>['view'];
      expect(places).to.deep.equal(withPage().page_pictures);
      expect(places[0]).to.include({ offset: picture.length, bytes: picture.length, width: 320, height: 200 });
    });

    const twoOfOnePage = (): Report => {
      const report = withPage();
      report.page_pictures!.push({ ...report.page_pictures![0]!, offset: report.pictures.pop()!.offset });
      report.page_pictures!.reverse();
      return report;
    };
    const other = Buffer.from(pictures);
    other[3] = 0xda;
    const refused: [string, Report, Uint8Array | null, (Uint8Array | null)?][] = [
      ['have another digest', withPictures(), other, pictures],
      ['are stored, but have no places', reportOf(input), pictures],
      ['have places, but are not stored', withPictures(), null],
      ['are no JPEG files', withPictures(), other],
      ['have another size', withPictures((report) => (report.pictures[1]!.width = 321)), pictures],
      ['overlap', withPictures((report) => (report.pictures[1]!.offset = 0)), pictures],
      ['leave bytes over', withPictures((report) => report.pictures.pop()), pictures],
      ['exceed the object', withPictures((report) => (report.pictures[1]!.bytes += 1)), pictures],
      ['are of an unknown root cause', withPictures((report) => (report.pictures[1]!.fingerprint = '0'.repeat(16))), pictures],
      ['are two of one root cause', withPictures(({ pictures: [one, two] }) => (two!.fingerprint = one!.fingerprint)), pictures],
      ['are of another page', withPictures((report) => (report.pictures[0]!.page_url = 'https://x.example/')), pictures],
      ['are of a page that was not tested', withPage((one) => (one.page_url = 'https://x.example/')), pictures],
      ['are of a page, and overlap one of a root cause', withPage((one) => (one.offset = 0)), pictures],
      ['are two of one page', twoOfOnePage(), pictures],
    ];
    for (const [why, report, object, announced] of refused)
      it(`refuses pictures that ${why}`, async () => {
        const { ingested, objects } = await ingest(report, object, announced);
        expect(ingested)
          .to.have.property('reason')
          .that.matches(/picture/);
        expect(objects).not.to.have.any.keys(to.export, to.pdf, to.pictures);
      });
  });

  it('refuses results that change between verification and copy', async () => {
    const bytes = bytesOf(reportOf(input));
    const objects: Record<string, Uint8Array> = { [from.export]: bytes, [from.pdf]: PDF };
    const reports = holding(objects, () => (objects[from.export] = Buffer.from('{}')));
    const ingested = await ingestOf({ reports }, stored(bytes));
    expect(ingested).to.deep.equal({ ok: false, reason: 'the results were changed while they were verified.' });
    expect(objects).not.to.have.any.keys(to.export, to.pdf, to.view, to.findings);
  });

  it('throws if the view cannot be stored, and stores everything again in the next attempt', async () => {
    const bytes = bytesOf(reportOf(input));
    const objects: Record<string, Uint8Array> = { [from.export]: bytes, [from.pdf]: PDF };
    const store = holding(objects);
    let isDown = true;
    const reports = {
      ...store,
      writeView: (...view: Parameters<typeof store.writeView>) =>
        isDown ? Promise.reject(new Error('unavailable')) : store.writeView(...view),
    };
    const visited: number[] = [];
    const metrics = { pagesVisited: (visits: readonly unknown[]): void => void visited.push(visits.length) };
    const error = await ingestOf({ reports, metrics }, stored(bytes)).catch((reason: unknown) => reason);
    expect(error).to.be.an('error').with.property('message', 'unavailable');
    expect(visited, 'pages are counted once').to.deep.equal([]);
    isDown = false;
    expect(await ingestOf({ reports, metrics }, stored(bytes))).to.include({ ok: true });
    expect(objects).to.include.keys(to.export, to.pdf, to.view, to.findings);
    expect(visited).to.deep.equal([2]);
  });

  it('does not copy refused results', async () => {
    const bytes = Buffer.from('{}');
    const objects: Record<string, Uint8Array> = { [from.export]: bytes, [from.pdf]: PDF };
    const ingested = await ingestOf({ reports: holding(objects) }, stored(bytes));
    expect(ingested.ok).to.equal(false);
    expect(objects).not.to.have.any.keys(to.export, to.pdf, to.view, to.findings);
  });

  it('survives an export that exceeds its memory limit', async () => {
    const bomb = Buffer.from(`[${'[],'.repeat(8_000_000)}[]]`);
    const reports = holding({ [from.export]: bomb, [from.pdf]: PDF });
    const ingested = await ingestOf({ reports, verifier: createVerifier({ memoryMib: 48 }) }, stored(bomb));
    expect(ingested).to.deep.equal({ ok: false, reason: 'the export holds more values than its size allows.' });
  });

  it('throws, instead of refusing the results, while the object store is unavailable', async () => {
    const unavailable = { ...holding({}), read: () => Promise.reject(new Error('unavailable')) };
    const bytes = bytesOf(reportOf(input));
    const error = await ingestOf({ reports: unavailable }, stored(bytes)).then(
      () => null,
      (reason: unknown) => reason,
    );
    expect(error).to.be.an('error').with.property('message', 'unavailable');
  });

  it('refuses an export that says that no service knows the scan', () => {
    const report = reportOf(input);
    const bytes = bytesOf({ ...report, scan: { ...report.scan, local: true } });
    expect(verifyExport({ export: bytes, pictures: null }, expected)).to.deep.equal({
      ok: false,
      reason: 'the export is not of a scan of the service.',
    });
  });

  it('refuses other metadata than the row has', () => {
    const metadata = { branch: 'main' };
    const judged = (made: Record<string, string> | undefined, wanted: Record<string, string> | undefined) => {
      const report = reportOf({ ...input, metadata: made });
      return verifyExport({ export: bytesOf(report), pictures: null }, { ...expected, metadata: wanted });
    };
    expect(judged(metadata, metadata).ok).to.equal(true);
    expect(judged(undefined, undefined).ok).to.equal(true);
    const refused = { ok: false, reason: 'the export was made with other metadata.' };
    for (const made of [undefined, { branch: 'other' }, { ...metadata, commit: 'c' }])
      expect(judged(made, metadata)).to.deep.equal(refused);
    expect(judged(metadata, undefined)).to.deep.equal(refused);
  });

  it('refuses root causes of another rule, and those that do not follow from the violations', () => {
    const refused = (edit: (report: Report) => void) => {
      const report = structuredClone(reportOf(input));
      edit(report);
      return judge(bytesOf(report));
    };
    expect(refused((report) => (report.fingerprint_version -= 1))).to.deep.equal({
      ok: false,
      reason: 'the root causes were made by another rule.',
    });
    const reason = 'the root causes do not follow from the violations.';
    expect(refused(({ groups }) => (groups[0]!.elements += 1))).to.deep.equal({ ok: false, reason });
    expect(refused(({ groups }) => (groups[0]!.example.landmark = 'banner'))).to.deep.equal({ ok: false, reason });
  });

  it('refuses rules and criteria that do not follow from the pages', () => {
    const refused = (edit: (report: Report, page: TestedPage) => void): unknown => {
      const report = reportOf(input);
      edit(report, report.pages[0] as TestedPage);
      const judgement = judge(bytesOf(report));
      return judgement.ok ? null : judgement.reason;
    };
    const contradict = 'the rules that ran on the pages contradict each other.';
    expect(refused((_, page) => page.rules_passed.push(99))).to.equal(contradict);
    expect(refused((_, page) => page.rules_passed.unshift(page.rules_passed[0]!))).to.equal(contradict);
    expect(refused((_, page) => page.rules_passed.reverse())).to.equal(contradict);
    expect(refused((_, page) => (page.rules_not_applicable = page.rules_passed))).to.equal(contradict);
    expect(refused(({ rules }, page) => (page.rules_passed = [rules.findIndex(({ id }) => id === 'image-alt')]))).to.equal(contradict);
    const rules = 'the rules do not follow from the pages.';
    expect(refused((_, page) => page.rules_passed.pop())).to.equal(rules);
    expect(refused((report) => (report.rules[0]!.wcag = []))).to.equal(rules);
    expect(refused((report) => report.rules.push({ ...report.rules.at(-1)!, id: 'zzz' }))).to.equal(rules);
    const advice = 'the root causes of the advice do not follow from the pages.';
    expect(refused((_, page) => (page.advice = [{ ...page.violations[0]!, rule: 'tabindex' }]))).to.equal(advice);
    expect(refused((report) => (report.advice_groups = [report.groups[0]!]))).to.equal(advice);
    const criteria = 'the success criteria do not follow from the rules.';
    expect(refused((report) => (report.criteria[0]!.pages.passed += 1))).to.equal(criteria);
    expect(refused((report) => report.criteria.pop())).to.equal(criteria);
  });

  it('accepts capped elements, and refuses numbers of elements that contradict each other', () => {
    const judged = (edit: (finding: ReportViolation) => void) => {
      const pages = structuredClone(reportOf(input).pages);
      const [page] = pages;
      if (page?.tested !== true) throw new Error('the sample has no tested page');
      edit(page.violations[0]!);
      const times = { startedAt: new Date(), finishedAt: new Date() };
      return judge(bytesOf(buildReport({ input, pages, tools: reportOf(input).tools, ...times })));
    };
    const causeOf = ({ rule, nodes }: ReportViolation): string => rootCauseFingerprint(rule, nodes[0]!);
    expect(
      judged((finding) => {
        finding.nodes_total = finding.nodes.length + 20_000;
        finding.nodes_beyond = [{ fingerprint: causeOf(finding), elements: 19_000 }];
      }).ok,
    ).to.equal(true);
    const edits: ((finding: ReportViolation) => void)[] = [
      (finding) => (finding.nodes = []),
      (finding) => finding.nodes.push(finding.nodes[0]!),
      (finding) => (finding.nodes_beyond = [{ fingerprint: causeOf(finding), elements: 1 }]),
      (finding) => {
        finding.nodes_total += 5;
        finding.nodes_beyond = [{ fingerprint: 'f'.repeat(16), elements: 1 }];
      },
      (finding) => {
        finding.nodes_total += 5;
        finding.nodes_beyond = [1, 2].map((elements) => ({ fingerprint: causeOf(finding), elements }));
      },
    ];
    for (const edit of edits)
      expect(judged(edit))
        .to.have.property('reason')
        .that.matches(/^the numbers of elements on page .* contradict each other\.$/);
  });

  const first = (report: Report) => report.pages[0] as TestedPage;
  const LIES: [string, (report: Report) => unknown, RegExp][] = [
    ['an unknown field', (report) => Object.assign(report, { more: 1 }), /does not match its schema/],
    ["another scan's id", (report) => (report.scan.id = 'another'), /about another scan/],
    ['another URL', (report) => (report.scan.url = 'https://example.org/'), /about another URL/],
    ['other options', (report) => (report.scan.options.wcag_level = 'A'), /with other options/],
    ['other thresholds', (report) => (report.scan.thresholds.max_violations = 99), /with other thresholds/],
    ['a more favourable verdict', (report) => (report.scan.verdict = { passed: true, message: null }), /verdict does not follow/],
    ['lower violation counts', (report) => (report.counts.total = 0), /counts do not follow/],
    ['a higher score', (report) => (report.score.value = 100), /score does not follow from the pages/],
    ['a higher page score', (report) => (first(report).score = 100), /score of page .* does not follow/],
    ['fewer failed rules', (report) => (first(report).rules.critical.failed = 0), /score of page .* does not follow/],
    ['fewer pages found', (report) => (report.score.pages_found = 1), /coverage does not follow/],
    ['fewer pages attempted', (report) => (report.score.pages_attempted = 1), /coverage does not follow/],
    ['fewer root causes', (report) => report.groups.pop(), /root causes do not follow/],
  ];
  for (const [what, lie, why] of LIES)
    it(`refuses an export with ${what}`, () => {
      const report = structuredClone(reportOf(input));
      lie(report);
      expect(judge(bytesOf(report)))
        .to.have.property('reason')
        .that.matches(why);
    });

  it('refuses other pages than were announced or are reserved, and a verdict that ignores the coverage', () => {
    const reasonOf = (report: Report, wanted: Partial<Expectation>): unknown => {
      const judgement = verifyExport({ export: bytesOf(report), pictures: null }, { ...expected, ...wanted });
      return judgement.ok ? null : judgement.reason;
    };
    expect(reasonOf(reportOf(input), { announced: { scanned: 5, failed: 0 } })).to.match(/page counts differ from the scanner's summary/);
    expect(reasonOf(reportOf({ ...input, pagesReserved: 1 }), { reserved: 1 })).to.match(
      /2 pages were tested, but credits are reserved for 1/,
    );
    const options = { ...expected.options, thresholds: { minScore: 0 } };
    // 2 of 5 pages are less than the default minimum.
    const report = reportOf({ ...input, options: { ...input.options, thresholds: { minScore: 0 } } }, pagesOf(input.options.url, 3));
    expect(report.scan.verdict.passed).to.equal(false);
    report.scan.verdict = { passed: true, message: null };
    expect(reasonOf(report, { options, announced: { scanned: 2, failed: 3 } })).to.match(/verdict does not follow from score/);
  });

  const ANNOUNCED: [string, (stored: PodStored) => unknown, RegExp, Record<string, Uint8Array>?][] = [
    ['a wrong digest of the export', (one) => (one.export.sha256 = '0'.repeat(64)), /digest of the export is not the announced one/],
    ['a wrong digest of the PDF', (one) => (one.pdf.sha256 = '0'.repeat(64)), /digest of the PDF is not the announced one/],
    ['a wrong size', (one) => (one.export.bytes += 1), /instead of the announced/],
    ['more bytes than are accepted', (one) => (one.export.bytes = 200_000_000), /more than the 64000000 that are accepted/],
    ['objects that are not stored', () => undefined, /announced, but not stored/, {}],
    ['a PDF that is none', (one) => (one.pdf = digestOf(Buffer.from('<p>'))), /PDF is not a PDF/, { [from.pdf]: Buffer.from('<p>') }],
  ];
  for (const [what, lie, why, objects] of ANNOUNCED)
    it(`refuses ${what}`, async () => {
      const bytes = bytesOf(reportOf(input));
      const announced = structuredClone(stored(bytes));
      lie(announced);
      const isEmpty = objects !== undefined && Object.keys(objects).length === 0;
      const reports = holding(isEmpty ? {} : { [from.export]: bytes, [from.pdf]: PDF, ...objects });
      expect(await ingestOf({ reports }, announced))
        .to.have.property('reason')
        .that.matches(why);
    });

  it('refuses text that is not UTF-8, and excessive nesting', () => {
    expect(judge(Buffer.from([0xff, 0xfe]))).to.deep.include({ ok: false });
    expect(judge(Buffer.from('['.repeat(100_000)))).to.deep.include({ ok: false });
    expect(judge(Buffer.from(`${'['.repeat(100_000)}${']'.repeat(100_000)}`))).to.deep.include({ ok: false });
  });
});
