import { expect } from 'chai';
import { Compile } from 'typebox/compile';
import type { ReportNode } from '../../report/schema/page.ts';
import { RootCause } from '../../report/schema/root-cause.ts';
import { reportOf } from '../support/scan-results.ts';
import { sampleInput, sampleNode, samplePage, sampleViolation } from './samples.ts';
import { FINDINGS_LIMITS, PageCauses } from '../../report/view/findings.ts';
import { VIEW_LIMITS, VIEW_MAX_BYTES, viewObjectsOf, type FindingsPlace } from '../../report/view/view.ts';

const images = (nodes: ReportNode[]) => sampleViolation('image-alt', 'critical', 'Images must have alternative text', nodes);
const image = (name: string) => sampleNode(`<img class="${name}">`, `#${name}`);
const partOf = (object: Uint8Array, { offset, bytes }: FindingsPlace): unknown =>
  JSON.parse(Buffer.from(object.subarray(offset, offset + bytes)).toString());
const [isCause, isPage] = [Compile(RootCause), Compile(PageCauses)];

describe('the findings beside a view', () => {
  it('have the details of every root cause, and the findings of every page, worst first', () => {
    const links = sampleViolation('link-name', 'serious', 'Links must have discernible text', [sampleNode('<a href="/"></a>', '#a')]);
    const { view, findings } = viewObjectsOf(
      reportOf(sampleInput(), [
        samplePage('https://www.example.org/', 'Home', [links, images([image('one'), image('one'), image('two')])], [links]),
        samplePage('https://www.example.org/clean', 'Clean', []),
      ]),
    );
    expect(view.causes.map(({ details }) => partOf(findings, details!))).to.deep.equal(view.groups);
    for (const { details } of view.causes) expect(isCause.Check(partOf(findings, details!))).to.equal(true);
    const [home, clean] = view.pages as { findings?: FindingsPlace }[];
    expect(clean!.findings).to.equal(undefined);
    const found = partOf(findings, home!.findings!) as PageCauses;
    expect(isPage.Check(found)).to.equal(true);
    expect(found.causes.map(({ rule, elements, shown }) => [rule, elements, shown.length])).to.deep.equal([
      ['image-alt', 2, 2],
      ['image-alt', 1, 1],
      ['link-name', 1, 1],
    ]);
    expect(found.needs_review).to.have.length(1);
  });

  it('have the worst severity that a cause has on the page', () => {
    const minor = { ...images([image('one')]), impact: 'minor' as const };
    const { view, findings } = viewObjectsOf(
      reportOf(sampleInput(), [samplePage('https://www.example.org/', 'Home', [minor, images([image('one')])])]),
    );
    const [home] = view.pages as { findings: FindingsPlace }[];
    const { causes } = partOf(findings, home!.findings) as PageCauses;
    expect(causes.map(({ impact, elements }) => [impact, elements])).to.deep.equal([['critical', 2]]);
    expect(view.causes[0]).to.include({ impact: 'critical', elements: 2 });
  });

  it('have no pages that the view does not list', () => {
    const pages = Array.from({ length: VIEW_LIMITS.pages + 20 }, (_, n) =>
      samplePage(`https://www.example.org/${n}`, 'Page', [images([image('one')])]),
    );
    const { view, findings } = viewObjectsOf(reportOf(sampleInput(), pages));
    const last = view.pages.at(-1) as { findings: FindingsPlace };
    expect(view.pages).to.have.length(VIEW_LIMITS.pages);
    expect(last.findings.offset + last.findings.bytes).to.equal(findings.byteLength);
  });

  it('name the causes so that no two lines of a rule are the same', () => {
    const alike = Array.from({ length: 5 }, (_, n) => sampleNode(`<img ${'x'.repeat(80)} class="${'abcde'[n]}">`, 'main > img'));
    const { view } = viewObjectsOf(reportOf(sampleInput(), [samplePage('https://www.example.org/', 'Home', [images(alike)])]));
    expect(view.causes).to.have.length(5);
    expect(new Set(view.causes.map(({ element }) => element)).size).to.equal(5);
  });

  it('are limited, however much the pages have, and say how much there is', () => {
    const word = (n: number): string => [...String(n)].map((digit) => 'abcdefghij'[Number(digit)]).join('');
    const many = Array.from({ length: 4_500 }, (_, n) => sampleNode(`<img class="${word(n)}" title="${'x '.repeat(750)}">`, `#${word(n)}`));
    const pages = Array.from({ length: 40 }, (_, n) => samplePage(`https://www.example.org/${n}`, 'Page', [images(n === 0 ? many : many.slice(0, 50))])); // prettier-ignore
    const { view, findings } = viewObjectsOf(reportOf(sampleInput(), pages));
    expect(findings.byteLength).to.be.at.most(FINDINGS_LIMITS.causes + FINDINGS_LIMITS.pages + 100_000);
    expect(Buffer.byteLength(JSON.stringify(view))).to.be.at.most(VIEW_MAX_BYTES);
    expect(view.causes.length).to.be.greaterThan(2_000).and.lessThan(view.groups_total);
    const [first] = view.pages as { findings: FindingsPlace }[];
    expect(first!.findings.bytes).to.be.at.most(FINDINGS_LIMITS.page);
    const { causes, causes_total: total } = partOf(findings, first!.findings) as PageCauses;
    expect(total).to.equal(4_500);
    expect(causes.length).to.be.lessThan(4_500);
  });
});
