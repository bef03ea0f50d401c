/** The text of comments on pull requests, read by a parser of GitHub's Markdown. */
import { expect } from 'chai';
import fc from 'fast-check';
import { IMPACTS } from '../../core/scan/impacts.ts';
import { annotationsOf, code, COMMENT_MIN_CHARACTERS, commentOf, type CommentOptions, markerOf } from '../../report/comment/comment.ts';
import { COMMENT_CAUSES, COMMENT_MAX_CHARACTERS } from '../../cli/commands/comment.ts';
import type { Report, ReportBaseline } from '../../report/schema/report.ts';
import type { CauseChange } from '../../report/schema/root-cause.ts';
import { HOSTILE_TEXTS } from '../support/hostile-texts.ts';
import { rendered } from '../support/rendered-markdown.ts';
import { cleanReport, smallReport } from './samples.ts';

const DEFAULTS: CommentOptions = { causes: COMMENT_CAUSES, maxCharacters: COMMENT_MAX_CHARACTERS };
const SERVICE = 'https://curbcut.example.com/dashboard/scans/1';

const change = (rule: string, more: Partial<CauseChange> = {}): CauseChange => ({
  fingerprint: '0123456789abcdef',
  rule,
  impact: 'critical',
  wcag: ['1.1.1'],
  help: 'Images must have alternative text',
  help_url: `https://dequeuniversity.com/rules/axe/4.14/${rule}`,
  elements: 1,
  pages: 1,
  in_both: false,
  on_new_pages: 0,
  examples: [{ page: 'https://www.example.org/cart', selector: 'main > img', frame_path: [], shadow_path: [] }],
  ...more,
});

function compared(causes: CauseChange[], more: Partial<ReportBaseline> = {}): Report {
  const report = smallReport({ maxNewViolations: 0 });
  const added = causes.reduce((sum, { elements }) => sum + elements, 0);
  const numbers = { new: added, on_new_pages: 0, fixed: 2, unchanged: 58, not_tested: 0 };
  const none = { scan_id: 'x', problem: null, optional: false, caveats: [], fixed_causes: [] };
  report.baseline = { ...none, ...numbers, new_causes: causes, ...more };
  report.scan.verdict = { passed: added === 0, message: null };
  return report;
}

describe('the comment of a report', () => {
  it('has the verdict, the numbers, and each new root cause with its place and how to fix it', () => {
    const text = commentOf(compared([change('image-alt')]), { ...DEFAULTS, link: SERVICE });
    expect(text.split('\n')[0]).to.equal('<!-- curbcut:www.example.org -->');
    const { shown, elements } = rendered(text);
    for (const part of [
      '❌ Accessibility report: Did not pass',
      'Compared with the baseline: 1 new, 2 fixed, 58 unchanged.',
      'New violations: Measured 1, Allowed at most 0',
      'New violations: 1',
      'Images must have alternative text (image-alt)',
      'Critical · WCAG 1.1.1 · 1 element on 1 page',
      '/cart main > img',
      'How to fix it: ',
    ])
      expect(shown).to.include(part);
    expect(elements.flatMap(({ attributes }) => attributes.href ?? [])).to.deep.equal([
      'https://dequeuniversity.com/rules/axe/4.14/image-alt',
      'https://www.example.org/cart',
      SERVICE,
    ]);
  });

  it('links a page that the scan tested at http, and no address of another scheme', () => {
    const examples = ['http://www.example.org/cart', 'javascript://www.example.org/%0aalert(1)'].map((page) => ({
      ...change('image-alt').examples[0]!,
      page,
    }));
    const { elements, shown } = rendered(commentOf(compared([change('image-alt', { elements: 2, examples })]), DEFAULTS));
    expect(shown).to.include('/cart main > img').and.include('javascript://www.example.org/');
    const links = elements.flatMap(({ attributes }) => attributes.href ?? []);
    expect(links.slice(1)).to.deep.equal(['http://www.example.org/cart']);
  });

  it('names the commit that was scanned, if the scan has one', () => {
    const report = compared([]);
    expect(commentOf(report, DEFAULTS)).to.not.include('commit');
    report.scan.metadata = { commit: '3f2b8c1e6a4d4f0e9b7a1c2d3e4f5a6b7c8d9e0f', branch: 'fix' };
    expect(rendered(commentOf(report, DEFAULTS)).shown).to.include('https://www.example.org/ · commit 3f2b8c1e');
    report.scan.metadata = { commit: '`<b>@all' };
    const inCode = rendered(commentOf(report, DEFAULTS)).texts.filter(({ tag }) => tag === 'code');
    expect(inCode.map(({ text }) => text).join('')).to.include('`<b>@all');
  });

  it('says that nothing is new, and does not list what is known', () => {
    const { shown } = rendered(commentOf(compared([]), DEFAULTS));
    expect(shown).to.include('✅ Accessibility report: Passed').and.include('No new violations.').and.not.include('image-alt');
    const polish = compared([change('image-alt')]);
    polish.scan.options.locale = 'pl';
    expect(rendered(commentOf(polish, DEFAULTS)).shown, 'in the language of the scan').to.include('Nie zaliczono');
  });

  it('leaves out what does not count as new: known root causes on new pages', () => {
    const known = change('label', { in_both: true, on_new_pages: 3, elements: 3 });
    const { shown } = rendered(commentOf(compared([change('image-alt'), known], { new: 1, on_new_pages: 3 }), DEFAULTS));
    expect(shown).to.include('image-alt').and.include('3 more, on pages that the baseline did not test').and.not.include('label');
  });

  it('lists all root causes if the scan was not compared, and says why there is no comparison', () => {
    const report = smallReport();
    expect(rendered(commentOf(report, DEFAULTS)).shown)
      .to.include(`Violations: ${report.counts.total}`)
      .and.include(report.groups[0]!.rule);
    const nothing = { new: null, on_new_pages: null, fixed: null, unchanged: null, not_tested: null, problem: 'not_found' as const };
    expect(rendered(commentOf(compared([], nothing), DEFAULTS)).shown).to.include('The scan was not compared with a baseline.');
    expect(rendered(commentOf(cleanReport(), DEFAULTS)).shown).to.include('No violations found.');
  });

  it('describes at most so many root causes and characters, and says how many violations are left', () => {
    const report = compared(Array.from({ length: 30 }, () => change('image-alt', { elements: 2 })));
    const three = commentOf(report, { ...DEFAULTS, causes: 3 });
    expect(rendered(three).shown.split('image-alt')).to.have.length(4);
    expect(rendered(three).shown).to.include('and 54 more violations');
    const short = commentOf(report, { ...DEFAULTS, causes: 30, maxCharacters: COMMENT_MIN_CHARACTERS });
    expect(short.length).to.be.lessThan(COMMENT_MIN_CHARACTERS);
    expect(rendered(short).shown).to.match(/and \d+ more violations/);
  });
});

describe('the comment of a hostile site', () => {
  /** Texts of what has a meaning in Markdown, HTML, GitHub and GitLab. */
  const active = fc.constantFrom(
    ...['`', '``', '<', '>', '&', '@team', '#12', '!34', '/close', '[x](https://evil.example)', '![](x)', '|', '*', '_', '\\', '\n'],
    ...['\n\n', '\r', '-->', '<!--', '<img src=x onerror=pwned()>', 'https://evil.example', 'www.evil.example', '$x$', '~'],
    ...['- [ ] ', '    ', '\u202e', ':tada:', '<details>', '&lt;b&gt;', '"', "'", '(', ')', ']', 'a', ' ', '# ', '> ', '[^1]'],
    ...['evil@example.com', '\ud83d', '|-|-|'],
  );
  const hostile = fc.oneof(
    fc.array(active, { minLength: 1, maxLength: 12 }).map((parts) => parts.join('')),
    fc.constantFrom(...HOSTILE_TEXTS),
  );
  const address = fc.oneof(
    hostile,
    hostile.map((text) => `https://www.example.org/${text}`),
    hostile.map((text) => `javascript:${text}`),
  );
  const cause = fc.record({
    rule: fc.oneof(hostile, fc.constantFrom('image-alt', 'html-has-lang')),
    help: hostile,
    help_url: address,
    impact: fc.constantFrom(...IMPACTS),
    wcag: fc.array(hostile, { maxLength: 2 }),
    examples: fc.array(
      fc.record({
        page: address,
        selector: hostile,
        frame_path: fc.array(hostile, { maxLength: 1 }),
        shadow_path: fc.constant<string[]>([]),
      }),
      {
        minLength: 1,
        maxLength: 2,
      },
    ),
  });
  const ELEMENTS = new Set(['h3', 'h4', 'p', 'ul', 'li', 'code', 'strong', 'a', 'sub']);

  it('has no element, link, mention or command of it', () => {
    fc.assert(
      fc.property(fc.array(cause, { minLength: 1, maxLength: 3 }), address, hostile, (causes, site, name) => {
        const report = compared(causes.map((one) => change(one.rule, { ...one })));
        report.scan.url = site;
        const markdown = commentOf(report, { ...DEFAULTS, name, link: SERVICE });
        const { elements, comments, texts } = rendered(markdown);
        expect(elements.filter(({ tag }) => !ELEMENTS.has(tag))).to.deep.equal([]);
        expect(comments).to.deep.equal([markerOf(name).slice('<!-- '.length, -' -->'.length)]);
        for (const { tag, attributes } of elements) {
          expect(Object.keys(attributes)).to.deep.equal(tag === 'a' ? ['href'] : []);
          if (tag === 'a') expect(attributes.href).to.match(/^https?:\/\/[^\s<>"`\\]+$/);
        }
        for (const { tag, text } of texts) if (tag !== 'code') expect(text).to.not.match(/@|#\d|!\d|evil|pwned|\$/);
        expect(markdown.split('\n').filter((line) => /^\s*\//.test(line))).to.deep.equal([]);
        expect(markdown).to.not.match(/[\p{Cf}\ud800-\udfff](?<!\p{Cs}{2})/u);
      }),
      { numRuns: 100 },
    );
  });

  it('has one annotation for each root cause, without further commands', () => {
    fc.assert(
      fc.property(fc.array(cause, { minLength: 1, maxLength: 12 }), (causes) => {
        const lines = annotationsOf(compared(causes.map((one) => change(one.rule, { ...one })))).split(/[\n\r\v\f\u0085\u2028\u2029]/);
        expect(lines.pop()).to.equal('');
        expect(lines).to.have.length(Math.min(causes.length, 10));
        for (const line of lines) expect(line).to.match(/^::error title=[^:,]+::/);
      }),
    );
    expect(annotationsOf(compared([change('image-alt')]))).to.equal(
      '::error title=image-alt%3A Images must have alternative text::https://www.example.org/cart main > img\n',
    );
    expect(annotationsOf(compared([]))).to.equal('');
  });

  it('shows its texts as they are, in code', () => {
    fc.assert(
      fc.property(hostile, (text) => {
        const { elements, texts } = rendered(`x ${code(text, 10_000)} y`);
        expect(elements.map(({ tag }) => tag).filter((tag) => tag !== 'p')).to.satisfy((tags: string[]) => tags.length <= 1);
        const visible = text
          .toWellFormed()
          .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, ' ')
          .trim();
        if (visible !== '')
          expect(
            texts
              .filter(({ tag }) => tag === 'code')
              .map((piece) => piece.text)
              .join(''),
          ).to.equal(visible);
      }),
    );
  });
});
