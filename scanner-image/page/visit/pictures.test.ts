import { expect } from 'chai';
import type { ReportNode } from '../../../report/schema/page.ts';
import type { PageFindings } from '../axe/results.ts';
import { emptyTally } from '../../../report/results/score.ts';
import { createPictureBudget, type TakenPicture, type WantedPicture } from './pictures.ts';

const node = (letter: string): ReportNode => ({
  selector: `#${letter}`,
  html: `<img class="kind-${letter}">`,
  landmark: null,
  box: null,
  failure_summary: '',
  frame_path: [],
  shadow_path: [],
});
/** Findings with one element for each letter. */
const findings = (letters: string): PageFindings => ({
  violations: [
    {
      rule: 'image-alt',
      impact: 'critical',
      wcag: [],
      help: '',
      description: '',
      help_url: '',
      nodes: [...letters].map(node),
      nodes_total: letters.length,
    },
  ],
  needsReview: [],
  advice: [],
  passes: [],
  inapplicable: [],
  failed: [],
  rules: emptyTally(),
});
const lettersOf = (wanted: readonly WantedPicture[]): string => wanted.map(({ nodes }) => nodes[0]!.selector.slice(1)).join('');
const taken = (wanted: readonly WantedPicture[]): TakenPicture[] =>
  wanted.map(({ fingerprint }) => ({ fingerprint, bytes: new Uint8Array(3), width: 1, height: 1 }));

describe('picture budget', () => {
  it('wants each root cause once, with up to three of its elements', () => {
    const budget = createPictureBudget();
    const { wanted } = budget.reserve(findings('aaaaab'), 0);
    expect(wanted.map(({ nodes }) => nodes.length)).to.deep.equal([3, 1]);
    expect(lettersOf(budget.reserve(findings('abc'), 0).wanted), 'another worker').to.equal('c');
  });

  it('retries a failed picture, but at most three times for an invisible element', () => {
    const budget = createPictureBudget();
    for (let page = 0; page < 3; page++) {
      const { wanted } = budget.reserve(findings('ab'), 0);
      expect(lettersOf(wanted)).to.equal('ab');
      budget.settle(wanted, { pictures: [], unseen: [wanted[0]!.fingerprint], stopped: null }, 1);
    }
    expect(lettersOf(budget.reserve(findings('ab'), 0).wanted)).to.equal('b');
  });

  it('keeps the pictures of tested pages, and releases those of duplicates', () => {
    const budget = createPictureBudget();
    const { wanted } = budget.reserve(findings('ab'), 0);
    const [a, b] = taken(wanted);
    budget.settle(wanted, { pictures: [a!, b!], unseen: [], stopped: null }, 1);
    budget.keep('https://x.example/', [a!]);
    budget.release([b!]);
    expect([...budget.all().values()].map(({ pageUrl }) => pageUrl)).to.deep.equal(['https://x.example/']);
    expect(lettersOf(budget.reserve(findings('ab'), 0).wanted)).to.equal('b');
  });

  it('is limited for a page and for the scan', () => {
    const budget = createPictureBudget({ perPage: 2, perScan: 3 });
    expect(lettersOf(budget.reserve(findings('abcdef'), 0).wanted)).to.equal('ab');
    expect(lettersOf(budget.reserve(findings('abcdef'), 0).wanted)).to.equal('c');
    expect(budget.reserve(findings('abcdef'), 0).wanted).to.deep.equal([]);
  });

  it('takes pictures of whole pages in a part of the time, up to a limit, and again for those that were not taken', () => {
    const budget = createPictureBudget({ baseMs: 300, share: 0, pages: 2, pagesShare: 1 / 3 });
    expect(budget.reservePage()).to.equal(100);
    budget.settlePage(false, 10);
    expect(budget.reservePage()).to.equal(90);
    budget.settlePage(true, 10);
    expect(budget.reservePage()).to.equal(80);
    budget.settlePage(true, 10);
    expect(budget.reservePage(), 'the limit').to.equal(0);
    budget.release([{ fingerprint: null, bytes: new Uint8Array(1), width: 1, height: 1 }]);
    expect(budget.reservePage()).to.equal(70);
    budget.settlePage(false, 80);
    expect(budget.reservePage(), 'the time of pages').to.equal(0);
    expect(budget.reserve(findings('a'), 0).ms, 'that of root causes').to.equal(190);
  });

  it('takes a fixed time and a share of the time of pages', () => {
    const budget = createPictureBudget({ baseMs: 100, share: 0.1 });
    const { wanted, ms } = budget.reserve(findings('a'), 200);
    expect(ms).to.equal(120);
    budget.settle(wanted, { pictures: [], unseen: [], stopped: null }, 150);
    expect(budget.reserve(findings('a'), 200).wanted).to.deep.equal([]);
    expect(lettersOf(budget.reserve(findings('a'), 200).wanted)).to.equal('a');
  });
});
