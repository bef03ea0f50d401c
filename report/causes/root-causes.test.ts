import { expect } from 'chai';
import fc from 'fast-check';
import { rootCausesOf, rootCauseFingerprint } from './root-causes.ts';
import type { ReportNode, ReportPage, ReportViolation, TestedPage } from '../schema/page.ts';
import { IMPACTS, type Impact } from '../../core/scan/impacts.ts';
import { testedPage } from '../../test/support/tested-page.ts';

const node = (html: string, more: Partial<ReportNode> = {}): ReportNode => ({
  selector: 'x',
  html,
  landmark: null,
  box: null,
  failure_summary: 'Fix it',
  frame_path: [],
  shadow_path: [],
  ...more,
});
const violation = (rule: string, impact: Impact, nodes: ReportNode[]): ReportViolation => ({
  rule,
  impact,
  wcag: ['1.1.1'],
  help: `help for ${rule}`,
  description: '',
  help_url: `https://rules.example/${rule}`,
  nodes,
  nodes_total: Math.max(1, nodes.length),
});
const tested = (url: string, violations: ReportViolation[]): TestedPage => testedPage(url, { violations });

describe('rootCausesOf', () => {
  it('groups one component on several pages, and lists each page once', () => {
    const pages = ['a', 'b', 'c'].map((name) =>
      tested(`https://x.example/${name}`, [
        violation('link-name', 'serious', [node('<a class="logo" href="/"></a>'), node('<a class="logo" href="../"></a>')]),
      ]),
    );
    const groups = rootCausesOf(pages, 'violations');
    expect(groups).to.have.length(1);
    expect(groups[0]).to.include({ rule: 'link-name', impact: 'serious', pages: 3, elements: 6 });
    expect(groups[0]!.page_urls).to.deep.equal(pages.map((page) => page.url));
    expect(groups[0]!.fingerprint).to.equal(rootCauseFingerprint('link-name', node('<a class="logo"></a>')));
  });

  const causesOf = (...nodes: ReportNode[]): number => rootCausesOf([tested('u', [violation('r', 'serious', nodes)])], 'violations').length;

  it('separates equal elements in two landmarks', () => {
    expect(causesOf(node('<p>a</p>', { landmark: 'banner' }), node('<p>b</p>', { landmark: 'contentinfo' }))).to.equal(2);
  });

  it('separates equal elements by the colours of their contrast violations, not by the ratio', () => {
    const contrast = (foreground: string, ratio: number) =>
      node('<p>a</p>', { contrast: { foreground, background: '#ffffff', ratio, required: 4.5 } });
    expect(causesOf(contrast('#777777', 4.47), contrast('#999999', 2.84), contrast('#777777', 4.48))).to.equal(2);
  });

  it('separates controls and graphics by their content', () => {
    for (const [tag, attributes] of [
      ['button', ''],
      ['a', ' class="icon"'],
      ['svg', ''],
      ['x-icon', ''],
      ['div', ' role="Button"'],
    ] as const) {
      const icon = (path: string) => node(`<${tag}${attributes}><path d="${path}"></path></${tag}>`);
      expect(causesOf(icon('M1 1'), icon('M2 2'), icon('M1 1')), tag).to.equal(2);
    }
  });

  it('ignores the content of other elements', () => {
    expect(
      causesOf(node('<p class="lead">one</p>'), node('<p class="lead">two <a href="/x">link</a></p>'), node('<p class="lead">…</p>')),
    ).to.equal(1);
    expect(causesOf(node('<div role="region" tabindex="0"><h2>a</h2></div>'), node('<div role="region" tabindex="0">b</div>'))).to.equal(1);
  });

  it('separates two rules on one element', () => {
    const html = '<a class="logo"></a>';
    const groups = rootCausesOf(
      [tested('u', [violation('link-name', 'serious', [node(html)]), violation('target-size', 'serious', [node(html)])])],
      'violations',
    );
    expect(groups).to.have.length(2);
  });

  it('lists at most 100 pages, and counts all', () => {
    const pages = Array.from({ length: 130 }, (_, index) => tested(`u${index}`, [violation('r', 'minor', [node('<b></b>')])]));
    expect(rootCausesOf(pages, 'violations')[0]).to.include({ pages: 130, elements: 130 });
    expect(rootCausesOf(pages, 'violations')[0]!.page_urls).to.have.length(100);
  });

  const arbitraryPages = fc
    .array(
      fc.array(
        fc.record({
          rule: fc.constantFrom('r1', 'r2', 'r3'),
          impact: fc.constantFrom(...IMPACTS),
          html: fc.array(fc.constantFrom('<a class="x"></a>', '<b id="n-1"></b>', '<b id="n-2"></b>', '<i>t</i>'), {
            minLength: 1,
            maxLength: 4,
          }),
        }),
        { maxLength: 4 },
      ),
      { maxLength: 6 },
    )
    .map((pages) =>
      pages.map((violations, index) =>
        tested(
          `https://x.example/${index}`,
          violations.map(({ rule, impact, html }) =>
            violation(
              rule,
              impact,
              html.map((piece) => node(piece)),
            ),
          ),
        ),
      ),
    );

  it('assigns each element to one group, and sorts the worst groups first', () => {
    fc.assert(
      fc.property(arbitraryPages, (pages) => {
        const groups = rootCausesOf(pages, 'violations');
        const elements = pages.flatMap((page) => page.violations).reduce((sum, { nodes }) => sum + nodes.length, 0);
        expect(groups.reduce((sum, group) => sum + group.elements, 0)).to.equal(elements);
        expect(new Set(groups.map((group) => group.fingerprint)).size).to.equal(groups.length);
        for (const [index, group] of groups.entries()) {
          expect(group.pages).to.equal(group.page_urls.length);
          expect(group.elements).to.be.at.least(group.pages);
          const next = groups[index + 1];
          if (next === undefined) continue;
          const rank = (one: typeof group) => [IMPACTS.indexOf(one.impact), -one.pages, -one.elements] as const;
          const [a, b] = [rank(group), rank(next)];
          const at = a.findIndex((value, position) => value !== b[position]);
          expect(at === -1 || a[at]! < b[at]!).to.equal(true);
        }
      }),
    );
  });

  it('does not depend on the order of the pages', () => {
    fc.assert(
      fc.property(arbitraryPages, (pages) => {
        const gist = (all: ReportPage[]) =>
          rootCausesOf(all, 'violations').map(({ fingerprint, pages: touched, elements, impact }) => [
            fingerprint,
            touched,
            elements,
            impact,
          ]);
        expect(gist(pages.toReversed())).to.deep.equal(gist(pages));
      }),
    );
  });
});
