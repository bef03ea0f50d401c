/** Sample reports: small, large, clean, hostile. */
import { buildReport } from '../../report/results/build.ts';
import type { PodInput } from '../../core/protocol/pod-messages.ts';
import type { ReportNode, ReportPage, ReportViolation, TestedPage, UntestedPage } from '../../report/schema/page.ts';
import type { Report } from '../../report/schema/report.ts';
import { positionsOf } from '../../report/results/rule-outcomes.ts';
import { emptyTally } from '../../report/results/score.ts';
import { IMPACTS, type Impact } from '../../core/scan/impacts.ts';
import type { Locale } from '../../core/scan/locales.ts';
import type { Thresholds } from '../../core/scan/thresholds.ts';

export function sampleInput(thresholds: Thresholds = {}, locale: Locale = 'en', url = 'https://www.example.org/'): PodInput {
  return {
    version: '0.1.0',
    scanId: '3f2b8c1e-6a4d-4f0e-9b7a-1c2d3e4f5a6b',
    submittedAt: '2026-03-02T09:14:00.000Z',
    options: {
      url,
      httpFallback: false,
      maxPages: 90,
      wcagLevel: 'AA',
      wcagVersion: '2.2',
      thresholds,
      crawl: {
        include: [],
        exclude: [],
        hashRoutes: 'paths',
        hosts: [],
        rewriteHost: '',
        urls: [],
        sitemap: true,
        respectRobots: true,
        waitFor: '',
        settleMs: 0,
        consent: 'keep',
        prepare: [],
      },
      locale,
      pictures: true,
      advice: true,
    },
    pagesReserved: 90,
    uploads: [
      {
        attempt: 0,
        shard: 0,
        export: 'https://objects.example/report.json',
        pdf: 'https://objects.example/report.pdf',
        pictures: 'https://objects.example/pictures',
        result: 'https://objects.example/result.json',
      },
    ],
    deadline: '2026-03-02T10:14:00.000Z',
    uploadDeadline: '2026-03-02T10:34:00.000Z',
    allowTargets: [],
    denyTargets: [],
    workers: 2,
    pageBudgetMs: 30_000,
    exportMaxBytes: 64_000_000,
  };
}

export const sampleNode = (html: string, selector: string, summary?: string): ReportNode => ({
  selector,
  html,
  landmark: 'main',
  box: null,
  failure_summary:
    summary ??
    'Fix any of the following:\n  Element does not have an alt attribute\n  aria-label attribute does not exist or is empty\n  Element has no title attribute',
  frame_path: [],
  shadow_path: [],
});

export const sampleViolation = (rule: string, impact: Impact, help: string, nodes: ReportNode[], wcag = ['1.1.1']): ReportViolation => ({
  rule,
  impact,
  wcag,
  help,
  description: `Ensures ${help}`,
  help_url: `https://dequeuniversity.com/rules/axe/4.14/${rule}?application=playwright`,
  nodes,
  nodes_total: nodes.length,
});

export function samplePage(url: string, title: string, violations: ReportViolation[], needsReview: ReportViolation[] = []): TestedPage {
  const rules = emptyTally();
  for (const impact of IMPACTS) rules[impact].passed = 6;
  for (const { impact } of violations) rules[impact].failed += 1;
  const found = new Set([...violations, ...needsReview].map(({ rule }) => rule));
  const others = (...ids: string[]): string[] => ids.filter((id) => !found.has(id));
  return {
    url,
    final_url: url,
    http_status: 200,
    title,
    language: 'en',
    size: { width: 1280, height: 900 },
    tested: true,
    score: 81.4,
    rules,
    duration_ms: 410,
    violations,
    needs_review: needsReview,
    advice: [],
    ...positionsOf({
      passed: others('document-title', 'html-has-lang', 'image-alt', 'link-in-text-block'),
      notApplicable: others('label', 'video-caption'),
    }),
    frames_untested: [],
    caveats: [],
  };
}

export const sampleUntested = (
  url: string,
  reason: Extract<ReportPage, { tested: false }>['reason'],
  status: number | null,
): UntestedPage => ({
  url,
  final_url: null,
  http_status: status,
  tested: false,
  reason,
  message: 'The page could not be tested.',
  duration_ms: 12,
});

const contrast = (index: number): ReportViolation =>
  sampleViolation(
    'color-contrast',
    'serious',
    'Elements must meet minimum color contrast ratio thresholds',
    [
      {
        ...sampleNode(
          `<p class="teaser__meta" data-n="${index}">Published on ${index} March</p>`,
          `main > .teaser:nth-child(${index + 1}) > .teaser__meta`,
          'Fix any of the following:\n  Element has insufficient color contrast of 2.84 (foreground color: #999999, background color: #ffffff, font size: 10.5pt (14px), font weight: normal). Expected contrast ratio of 4.5:1',
        ),
        contrast: { foreground: '#999999', background: '#ffffff', ratio: 2.84, required: 4.5, font_size_px: 14, bold: false },
      },
    ],
    ['1.4.3'],
  );

const finish = (input: PodInput, pages: ReportPage[]): Report =>
  buildReport({
    input,
    pages,
    tools: { curbcut: '0.1.0', axe_core: '4.14.1', browser: 'Chromium 156.0.7411.0' },
    startedAt: new Date('2026-03-02T09:14:05.000Z'),
    finishedAt: new Date('2026-03-02T09:15:42.000Z'),
  });

/** A JPEG of 16 × 8 pixels. */
export const SAMPLE_JPEG: Uint8Array = Buffer.from(
  '/9j/4AAQSkZJRgABAQEASABIAAD/2wBDABsSFBcUERsXFhceHBsgKEIrKCUlKFE6PTBCYFVlZF9VXVtqeJmBanGQc1tdhbWGkJ6jq62rZ4C8ybqmx5moq6T/2wBDARweHigjKE4rK06kbl1upKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKT/wAARCAAIABADASIAAhEBAxEB/8QAFQABAQAAAAAAAAAAAAAAAAAAAAb/xAAUEAEAAAAAAAAAAAAAAAAAAAAA/8QAFAEBAAAAAAAAAAAAAAAAAAAAAP/EABQRAQAAAAAAAAAAAAAAAAAAAAD/2gAMAwEAAhEDEQA/AKYAH//Z',
  'base64',
);

/** Adds a picture of each root cause to a report. @returns the JPEGs by fingerprint */
export function addPictures(report: Report): Map<string, Uint8Array> {
  report.pictures = report.groups.map(({ fingerprint, page_urls: [url] }, index) => ({
    fingerprint,
    offset: index * SAMPLE_JPEG.length,
    bytes: SAMPLE_JPEG.length,
    width: 16,
    height: 8,
    page_url: url!,
  }));
  return new Map(report.groups.map(({ fingerprint }) => [fingerprint, SAMPLE_JPEG]));
}

/** A dozen pages with a handful of root causes. */
export function smallReport(
  thresholds: Thresholds = { minScore: 90, maxViolations: 10, failOnSeverity: 'critical' },
  locale: Locale = 'en',
): Report {
  const site = 'https://www.example.org';
  const pages: ReportPage[] = Array.from({ length: 12 }, (_, index) =>
    samplePage(
      `${site}/${['', 'about', 'team', 'contact', 'news', 'jobs', 'press', 'shop', 'shop/cart', 'help', 'imprint', 'privacy'][index]}`,
      `Example organisation · page ${index + 1}`,
      [
        contrast(index),
        ...(index % 2 === 0
          ? [
              sampleViolation('image-alt', 'critical', 'Images must have alternative text', [
                sampleNode('<img class="logo" src="/assets/logo.svg" width="120" height="40">', 'header > a > .logo'),
              ]),
            ]
          : []),
        ...(index === 3
          ? [
              sampleViolation(
                'label',
                'critical',
                'Form elements must have labels',
                [
                  {
                    ...sampleNode('<input type="text" name="street" placeholder="">', '#address input[name="street"]'),
                    frame_path: ['iframe[title="Contact form"]'],
                    shadow_path: ['contact-form'],
                  },
                ],
                ['4.1.2'],
              ),
            ]
          : []),
        ...(index > 8
          ? [
              sampleViolation(
                'landmark-unique',
                'moderate',
                'Landmarks should have a unique role or role/label/title (i.e. accessible name) combination',
                [sampleNode('<nav class="footer"></nav>', 'footer > nav')],
              ),
            ]
          : []),
      ],
      index === 1
        ? [sampleViolation('link-in-text-block', 'serious', 'Links must be distinguishable', [sampleNode('<a href="/x">x</a>', 'a')])]
        : [],
    ),
  );
  pages.push(
    sampleUntested(`${site}/members`, 'sign_in_page', 200),
    { ...sampleUntested(`${site}/old`, 'http_error', 404), linked_from: [`${site}/`, `${site}/news`] },
    { ...sampleUntested(`${site}/print/about`, 'same_as', 200), same_as: `${site}/about`, message: 'The main content is the same.' },
    sampleUntested(`${site}/private`, 'excluded', null),
  );
  const [home] = pages as [TestedPage];
  home.frames_untested = [
    { path: ['#map', 'iframe'], url: 'https://maps.example/embed', reason: 'timeout', message: 'The frame did not answer within 5 s.' },
  ];
  home.advice = [
    {
      ...sampleViolation('heading-order', 'moderate', 'Heading levels should only increase by one', [
        sampleNode('<h4>News</h4>', 'main > h4'),
      ]),
      wcag: [],
    },
    {
      ...sampleViolation('tabindex', 'serious', 'Elements should not have tabindex greater than zero', [
        sampleNode('<a href="/x" tabindex="3">x</a>', 'nav > a'),
      ]),
      wcag: [],
    },
  ];
  home.caveats = [{ kind: 'not_quiet', message: 'The page still changed after 10 s.' }];
  return { ...finish(sampleInput(thresholds, locale), pages), addresses_left: 40 };
}

/** A report without violations. */
export function cleanReport(thresholds: Thresholds = { minScore: 90 }, locale: Locale = 'en'): Report {
  return finish(sampleInput(thresholds, locale), [
    samplePage('https://www.example.org/', 'Home', []),
    samplePage('https://www.example.org/a', 'A', []),
  ]);
}

/** A report of any size. With `distinct`, each violation is its own root cause. */
export function largeReport(pages: number, perPage: number, distinct: boolean): Report {
  const all = Array.from({ length: pages }, (_, page) =>
    samplePage(
      `https://www.example.org/section-${page % 20}/a-rather-long-path-of-a-page/${page}`,
      `Page number ${page} of a large site with a title that goes on for a while`,
      Array.from({ length: perPage }, (_, index) =>
        sampleViolation(`rule-${index % 25}`, IMPACTS[index % 4]!, `Elements of kind ${index % 25} must have what they need`, [
          sampleNode(
            `<div class="component-${distinct ? `${String.fromCharCode(97 + (page % 26))}${page}` : 'x'}-${index}"><span>text</span></div>`,
            `main > div:nth-child(${index})`,
          ),
        ]),
      ),
    ),
  );
  return finish(sampleInput({ minScore: 95, maxViolations: 0 }), all);
}

/** A report that strains the layout: unsupported scripts, very long words and URLs, direction marks, icon fonts. */
export function hostileReport(): Report {
  const endless = `https://www.example.org/${'path-without-end/'.repeat(30)}?token=${'0123456789abcdef'.repeat(20)}`;
  const titles = [
    '日本語のページ',
    'עברית ועוד',
    'العربية',
    'ᚠᛇᚻ 𐎠𐎡',
    '🎉 Party 👩‍👩‍👧‍👦 \u{e000}',
    '\u202eright to left',
    'x'.repeat(500),
    '',
    '\u0000\u0007',
    '\ud800',
  ];
  return finish(
    {
      ...sampleInput({ maxViolations: 0 }, 'en', endless),
      metadata: Object.fromEntries(Array.from({ length: 10 }, (_, index) => [`${'k'.repeat(62)}${index}`, '日x العربية'.repeat(20)])),
    },
    titles.map((title, index) => ({
      ...samplePage(index % 2 === 0 ? `${endless}${index}` : `https://www.example.org/${index}`, title, [
        sampleViolation('r'.repeat(200), 'minor', `${title} ${'W'.repeat(400)}`, [
          {
            ...sampleNode(
              `<p title="${title}">${'&nbsp;'.repeat(300)}</p>`.slice(0, 2000),
              'div > '.repeat(100),
              `${title}\n  ${'unbroken'.repeat(200)}`,
            ),
            frame_path: Array.from({ length: 20 }, () => 'iframe'),
          },
        ]),
      ]),
      language: index === 0 ? 'ja' : 'not a language (at all)',
    })),
  );
}
