import { expect } from 'chai';
import fc from 'fast-check';
import { Compile } from 'typebox/compile';
import { rootCausesOf } from '../causes/root-causes.ts';
import { toReportOptions } from '../../core/scan/submitted-options.ts';
import { ruleResults } from '../results/rule-outcomes.ts';
import { type ReportNode, type ReportPage, type ReportViolation, type TestedPage, testedPages } from '../schema/page.ts';
import type { Report } from '../schema/report.ts';
import { countViolations, sumCounts } from '../results/score.ts';
import { ReportView, ruleOf, VIEW_LIMITS, VIEW_MAX_BYTES, viewOf, type FindingsPlace } from './view.ts';
import { IMPACTS } from '../../core/scan/impacts.ts';
import { withDefaults } from '../../core/scan/options.ts';
import { testedPage } from '../../test/support/tested-page.ts';

const schema = Compile(ReportView);
const sizeOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));

const node = (over: Partial<ReportNode> = {}): ReportNode => ({
  selector: 'main > img',
  html: '<img src="a.png">',
  landmark: 'main',
  box: null,
  failure_summary: 'Fix any of the following: …',
  frame_path: [],
  shadow_path: [],
  ...over,
});
const violation = (rule: string, over: Partial<ReportViolation> = {}): ReportViolation => ({
  rule,
  impact: 'serious',
  wcag: ['1.1.1'],
  help: `Help of ${rule}`,
  description: `Description of ${rule}`,
  help_url: `https://rules.example/${rule}`,
  nodes: [node()],
  nodes_total: over.nodes?.length ?? 1,
  ...over,
});
const page = (url: string, violations: ReportViolation[] = [], needsReview: ReportViolation[] = []): TestedPage =>
  testedPage(url, { title: `Title of ${url}`, score: 80, violations, needs_review: needsReview });
const untested: ReportPage = {
  url: 'https://example.org/down',
  final_url: null,
  http_status: 500,
  tested: false,
  reason: 'http_error',
  message: 'The server responded with status 500.',
  duration_ms: 10,
};

function report(pages: ReportPage[], over: Partial<Report['scan']> = {}): Report {
  const tested = testedPages(pages);
  return {
    schema_version: 1,
    scan: {
      id: 'scan',
      url: 'https://example.org/',
      ...toReportOptions(
        withDefaults({ url: 'https://example.org/', maxPages: 5, locale: 'pl', thresholds: { minScore: 90, failOnSeverity: 'serious' } }),
        5,
      ),
      verdict: { passed: false, message: 'The score is 80, below the minimum of 90.' },
      submitted_at: '2026-03-02T09:14:00.000Z',
      started_at: '2026-03-02T09:14:05.000Z',
      finished_at: '2026-03-02T09:15:42.000Z',
      metadata: {},
      ...over,
    },
    tools: { curbcut: '0.1.0', axe_core: '4.14.1', browser: 'Chromium 156' },
    score: {
      value: 80,
      score_version: 3,
      pages_tested: tested.length,
      pages_attempted: pages.length,
      pages_found: pages.length,
      needs_review: sumCounts(tested.map((one) => countViolations(one.needs_review))).total,
    },
    counts: sumCounts(tested.map((one) => countViolations(one.violations))),
    pages,
    fingerprint_version: 2,
    groups: rootCausesOf(pages, 'violations'),
    review_groups: rootCausesOf(pages, 'needs_review'),
    advice_groups: rootCausesOf(pages, 'advice'),
    ...ruleResults(pages, [], { wcag_level: 'AA', wcag_version: '2.2', locale: 'en' }),
    pictures: [],
    addresses_left: 0,
    discovery: { links: 0, files: 0, hash_links: 0, other_hosts: [], other_hosts_left: 0, sitemaps_cut: 0 },
  };
}

describe('the view of a report', () => {
  it('has the facts of the scan, its groups, pages and elements that need review', () => {
    const toReview = violation('video-caption', { nodes: [node({ html: '<video></video>' })] });
    const view = viewOf(
      report([page('https://example.org/', [violation('image-alt')], [toReview]), page('https://example.org/a'), untested]),
    );
    expect(view).to.deep.include({
      view_version: 1,
      scan: { url: 'https://example.org/', finished_at: '2026-03-02T09:15:42.000Z', options: { locale: 'pl' } },
      counts: { total: 1, critical: 0, serious: 1, moderate: 0, minor: 0 },
      groups_total: 1,
      review_groups_total: 1,
      pages_total: 3,
      issues: [],
      issues_total: 1,
    });
    expect(view.groups[0]).to.deep.include({
      rule: 'image-alt',
      help: 'Help of image-alt',
      pages: 1,
      elements: 1,
      page_urls: ['https://example.org/'],
      example: node(),
    });
    expect(view.score).to.include({ value: 80, needs_review: 1 });
    expect(view.review_groups.map(({ rule }) => rule)).to.deep.equal(['video-caption']);
    for (const rule of ['image-alt', 'video-caption'])
      expect(ruleOf(view, rule)).to.deep.equal({ help: `Help of ${rule}`, description: `Description of ${rule}`, wcag: ['1.1.1'] });
    const size = { width: 1280, height: 900 };
    const complete = { frames_untested: [], frames_total: 0, caveats: [] };
    expect(view.pages).to.deep.equal([
      {
        ...{ url: 'https://example.org/', title: 'Title of https://example.org/', tested: true, score: 80, size, ...complete },
        counts: { total: 1, critical: 0, serious: 1, moderate: 0, minor: 0 },
        findings: { offset: view.causes[0]!.details!.bytes, bytes: (view.pages[0] as { findings: FindingsPlace }).findings.bytes },
      },
      {
        ...{ url: 'https://example.org/a', title: 'Title of https://example.org/a', tested: true, score: 80, size, ...complete },
        counts: { total: 0, critical: 0, serious: 0, moderate: 0, minor: 0 },
      },
      untested,
    ]);
  });

  it('has what was not tested, and what may have been missed', () => {
    const frames = Array.from({ length: 12 }, (_, at) => ({
      path: ['#outer', `iframe:nth-child(${at})`],
      url: `https://frames.example/${at}`,
      reason: 'timeout' as const,
      message: 'The frame did not respond in time.',
    }));
    const partly = {
      ...page('https://example.org/'),
      frames_untested: frames,
      caveats: [{ kind: 'not_quiet' as const, message: 'It kept changing.' }],
    };
    const copy: ReportPage = {
      ...untested,
      url: 'https://example.org/copy',
      reason: 'same_as',
      same_as: 'https://example.org/',
      linked_from: ['https://example.org/a'],
      http_status: 200,
    };
    const view = viewOf({ ...report([partly, page('https://example.org/a'), copy]), addresses_left: 7 });
    expect(view).to.include({ pages_with_gaps: 1, addresses_left: 7 });
    const [first, second, third] = view.pages;
    expect(first).to.have.nested.property('frames_total', 12);
    expect(first).to.have.nested.property('frames_untested').with.length(VIEW_LIMITS.frames_untested);
    expect(first).to.have.deep.nested.property('frames_untested[1]', frames[1]);
    expect(first).to.have.deep.nested.property('caveats', partly.caveats);
    expect(second).to.deep.include({ frames_untested: [], caveats: [] });
    expect(third).to.deep.include({ reason: 'same_as', same_as: 'https://example.org/', linked_from: ['https://example.org/a'] });
  });

  it('has the evidence of each root cause: picture, checks, related elements', () => {
    const evidence = { checks: ['has-alt'], related: [{ selector: '#other', html: '<p id="other">' }] };
    const whole = report([page('https://example.org/', [violation('image-alt', { nodes: [node(evidence)] }), violation('label')])]);
    const place = { offset: 1200, bytes: 900, width: 400, height: 300 };
    const { fingerprint } = whole.groups.find(({ rule }) => rule === 'image-alt')!;
    const pictures = [{ ...place, fingerprint, page_url: 'https://example.org/' }];
    const view = viewOf({ ...whole, pictures });
    expect(view.pictures).to.deep.equal(pictures);
    expect(view.groups.find(({ rule }) => rule === 'image-alt')!.example).to.deep.include(evidence);
  });

  it('lists the failing elements of a scan of one page, worst first', () => {
    const deep = node({ selector: 'p', frame_path: ['iframe'], shadow_path: ['x-card'] });
    const view = viewOf(
      report([
        page('https://example.org/', [
          violation('region', { impact: 'moderate' }),
          violation('image-alt', { impact: 'critical', nodes: [node(), deep] }),
        ]),
      ]),
    );
    expect(view.issues.map(({ rule, selector }) => [rule, selector])).to.deep.equal([
      ['image-alt', 'main > img'],
      ['image-alt', 'iframe >>> x-card >>> p'],
      ['region', 'main > img'],
    ]);
    expect(view.issues[0]).to.deep.equal({
      rule: 'image-alt',
      impact: 'critical',
      help: 'Help of image-alt',
      help_url: 'https://rules.example/image-alt',
      wcag: ['1.1.1'],
      selector: 'main > img',
      html: '<img src="a.png">',
    });
    expect(view.issues_total).to.equal(3);
  });

  it('orders groups by impact, then elements, then pages', () => {
    const many = (count: number) => Array.from({ length: count }, () => node());
    const pages = [
      page('https://example.org/1', [
        violation('on-two-pages', { nodes: many(2) }),
        violation('many-elements', { nodes: many(5) }),
        violation('mild', { impact: 'minor', nodes: many(9) }),
        violation('worst', { impact: 'critical' }),
        violation('on-one-page', { nodes: many(4) }),
      ]),
      page('https://example.org/2', [violation('on-two-pages', { nodes: many(2) })]),
    ];
    expect(viewOf(report(pages)).groups.map(({ rule }) => rule)).to.deep.equal([
      'worst',
      'many-elements',
      'on-two-pages',
      'on-one-page',
      'mild',
    ]);
  });

  it('states the totals of lists that are cut', () => {
    const rules = Array.from({ length: 250 }, (_, index) => violation(`rule-${index}`));
    const pages = Array.from({ length: 600 }, (_, index) =>
      page(`https://example.org/${index}`, index === 0 ? rules : rules.slice(0, 1), rules.slice(0, 120)),
    );
    const view = viewOf(report(pages));
    expect([view.groups.length, view.groups_total]).to.deep.equal([VIEW_LIMITS.groups, 250]);
    expect([view.review_groups.length, view.review_groups_total]).to.deep.equal([VIEW_LIMITS.review_groups, 120]);
    expect([view.pages.length, view.pages_total]).to.deep.equal([VIEW_LIMITS.pages, 600]);
    expect([view.groups[0]!.page_urls.length, view.groups[0]!.pages]).to.deep.equal([VIEW_LIMITS.page_urls, 600]);
    const elements = Array.from({ length: 1200 }, () => node());
    const single = viewOf(report([page('https://example.org/', [violation('image-alt', { nodes: elements })])]));
    expect([single.issues.length, single.issues_total]).to.deep.equal([VIEW_LIMITS.issues, 1200]);
  });

  const texts = {
    'characters of three bytes': '語',
    'control characters, which JSON escapes with six': '\u0001',
    'half surrogate pairs': '\ud800',
  };
  for (const [what, character] of Object.entries(texts))
    for (const count of [1, 30])
      it(`has at most its maximum size if each of ${count} pages has only long texts of ${what}`, () => {
        const long = character.repeat(3_000);
        const html = character.repeat(2000);
        const endless = (index: number) =>
          violation(`${index}${long}`, {
            impact: IMPACTS[index % IMPACTS.length],
            help: long,
            description: long,
            help_url: long,
            wcag: Array.from({ length: 50 }, () => long),
            nodes: Array.from({ length: 5 }, (_, at) =>
              node({
                html: `${at}${html}`.slice(0, 2000),
                selector: long,
                failure_summary: long,
                frame_path: Array.from({ length: 30 }, () => long),
                shadow_path: Array.from({ length: 30 }, () => long),
                checks: Array.from({ length: 50 }, () => long),
                related: Array.from({ length: 5 }, () => ({ selector: long, html })),
              }),
            ),
          });
        const pages = Array.from({ length: count }, (_, index) => ({
          ...page(`https://example.org/${index}/${long}`, [endless(index), endless(index + 1)], [endless(index)]),
          title: long,
          frames_untested: Array.from({ length: 30 }, () => ({ path: [long, long], url: long, reason: 'removed' as const, message: long })),
          caveats: Array.from({ length: 30 }, () => ({ kind: 'rules_failed' as const, message: long })),
        }));
        const view = viewOf(report(pages, { url: `https://example.org/${'x'.repeat(2000)}` }));
        expect(sizeOf(view)).to.be.at.most(VIEW_MAX_BYTES);
        expect(schema.Check(view)).to.equal(true);
        expect(view.groups).to.not.deep.equal([]);
        expect(view.groups_total).to.equal(report(pages).groups.length);
        expect(view.pages).to.not.deep.equal([]);
        expect(JSON.stringify(view).isWellFormed()).to.equal(true);
        expect(JSON.stringify(view)).to.not.match(/\\ud[89a-f]/i);
      });

  it('loses nothing below its limits', () => {
    const text = fc.string({ maxLength: 60 });
    const nodes = fc.array(fc.record({ html: text, selector: text, landmark: fc.constantFrom(null, 'main' as const) }), {
      minLength: 1,
      maxLength: 4,
    });
    const rules = fc.array(fc.record({ rule: fc.constantFrom('a', 'b', 'c'), impact: fc.constantFrom(...IMPACTS), nodes }), {
      maxLength: 4,
    });
    fc.assert(
      fc.property(fc.array(fc.record({ violations: rules, review: rules }), { minLength: 1, maxLength: 6 }), (found) => {
        const violations = (list: (typeof found)[number]['violations']) =>
          list.map(({ rule, impact, nodes: some }) => violation(rule, { impact, nodes: some.map((one) => node(one)) }));
        const whole = report(
          found.map((one, index) => page(`https://example.org/${index}`, violations(one.violations), violations(one.review))),
        );
        const view = viewOf(whole);
        expect(schema.Check(view)).to.equal(true);
        expect(new Set(view.groups.map(({ fingerprint }) => fingerprint))).to.deep.equal(
          new Set(whole.groups.map(({ fingerprint }) => fingerprint)),
        );
        expect(view.groups.reduce((sum, { elements }) => sum + elements, 0)).to.equal(whole.counts.total);
        expect(view.review_groups.reduce((sum, { elements }) => sum + elements, 0)).to.equal(whole.score.needs_review);
        expect(view.pages.map(({ url }) => url)).to.deep.equal(whole.pages.map(({ url }) => url));
        expect(view.issues).to.have.length(found.length === 1 ? whole.counts.total : 0);
        expect([view.groups_total, view.review_groups_total, view.pages_total]).to.deep.equal([
          view.groups.length,
          view.review_groups.length,
          view.pages.length,
        ]);
      }),
    );
  });
});
