import { expect } from 'chai';
import fc from 'fast-check';
import type { Impact } from '../../../core/scan/impacts.ts';
import type { ReportNode } from '../../../report/schema/page.ts';
import type { PageFindings } from '../axe/results.ts';
import { emptyTally } from '../../../report/results/score.ts';
import { createPictureBudget, type PictureBudget, type TakenPicture } from './pictures.ts';

const node = (letter: string, box: ReportNode['box'] = null): ReportNode => ({
  selector: `#${letter}`,
  html: `<img class="kind-${letter.toLowerCase()}">`,
  landmark: null,
  box,
  failure_summary: '',
  frame_path: [],
  shadow_path: [],
});
const list = (impact: Impact, letters: string): PageFindings['violations'] => [
  {
    rule: `rule-${impact}`,
    impact,
    wcag: [],
    help: '',
    description: '',
    help_url: '',
    nodes: [...letters].map((letter) => node(letter)),
    nodes_total: letters.length,
  },
];
/** Findings with one element for each letter. */
const findings = (serious: string, critical = '', review = ''): PageFindings => ({
  violations: [...list('serious', serious), ...list('critical', critical)],
  needsReview: list('critical', review),
  advice: [],
  passes: [],
  inapplicable: [],
  failed: [],
  rules: emptyTally(),
});
const FILE = { bytes: new Uint8Array(3), width: 1, height: 1 };
const lettersOf = (budget: PictureBudget, found: PageFindings): string =>
  budget
    .wanted(found)
    .map(({ nodes }) => nodes[0]!.selector.slice(1))
    .join('');
/** The pictures of a page on which everything is visible. */
const visit = (budget: PictureBudget, found: PageFindings, file: TakenPicture['file'] = FILE): TakenPicture[] =>
  budget.wanted(found).map(({ fingerprint, rank }) => ({ fingerprint, rank, file }));

describe('picture budget', () => {
  it('wants each root cause once, the worst first, with the elements first that have a box', () => {
    const budget = createPictureBudget();
    const found = findings('aaaaaaaaaaab', 'c', 'd');
    found.violations[0]!.nodes.push(node('A', { x: 0, y: 0, width: 9, height: 9 }));
    expect(budget.wanted(found).map(({ nodes }) => nodes.map(({ selector }) => selector.slice(1)).join(''))).to.deep.equal([
      'c',
      'Aaaaaaaa',
      'b',
      'd',
    ]);
    budget.learn('https://x.example/', visit(budget, findings('ab')));
    expect(lettersOf(budget, found)).to.equal('cd');
  });

  it('wants what could not be seen or had no time again, and counts what had none', () => {
    const budget = createPictureBudget();
    budget.learn('https://x.example/', visit(budget, findings('ab'), null));
    budget.learn('https://x.example/', [{ fingerprint: null, rank: [1], file: null }]);
    expect([budget.missing(), lettersOf(budget, findings('ab'))]).to.deep.equal([3, 'ab']);
    budget.learn('https://x.example/2', visit(budget, findings('b')));
    expect(budget.missing()).to.equal(2);
    expect([...budget.all().values()].map(({ pageUrl }) => pageUrl)).to.deep.equal(['https://x.example/2']);
  });

  it('keeps the worst of a scan, of equal ones the first, whenever each page is visited', () => {
    const letters = fc.string({ unit: fc.constantFrom(...'abcdefgh'), maxLength: 5 });
    const page = fc.record({ serious: letters, critical: letters, review: letters, ahead: fc.nat(5), worse: fc.nat(2) });
    fc.assert(
      fc.property(fc.array(page, { maxLength: 12 }), fc.integer({ min: 1, max: 8 }), (pages, causes) => {
        /** @param ahead how many pages are visited before the ones in front of them are learnt */
        const kept = (ahead: (at: number) => number): unknown => {
          const budget = createPictureBudget({ causes, pages: 3 });
          const taken = new Map<number, TakenPicture[]>();
          for (let learnt = 0; learnt < pages.length; learnt++) {
            for (const [at, { serious, critical, review, worse }] of pages.entries())
              if (!taken.has(at) && at - ahead(at) <= learnt) {
                const whole = budget.wantsPage(`${at}`, [worse]) ? [{ fingerprint: null, rank: [worse], file: FILE }] : [];
                taken.set(at, [...visit(budget, findings(serious, critical, review)), ...whole]);
              }
            budget.learn(`${learnt}`, taken.get(learnt)!);
          }
          return [...budget.all(), ...budget.pages()].map(([key, { pageUrl }]) => [key, pageUrl]);
        };
        expect(kept((at) => pages[at]!.ahead)).to.deep.equal(kept(() => 0));
        const worst = pages.map(({ worse }, at) => [worse, -at] as const).sort((a, b) => b[0] - a[0] || b[1] - a[1]);
        expect((kept(() => 0) as string[][]).filter(([key, url]) => key === url).map(([url]) => Number(url))).to.have.members(
          worst.slice(0, 3).map(([, at]) => -at),
        );
      }),
    );
  });
});
