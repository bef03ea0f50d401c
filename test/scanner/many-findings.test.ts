/** Pages with thousands of failing elements: all are counted, and the report stays small. */
import { expect } from 'chai';
import { NODES_MAX } from '../../report/results/cap-nodes.ts';
import { rootCausesOf, rootCauseFingerprint } from '../../report/causes/root-causes.ts';
import type { ReportViolation, TestedPage } from '../../report/schema/page.ts';
import { countViolations } from '../../report/results/score.ts';
import { nightly } from '../support/nightly.ts';
import { html, openSite, scan, testedOf, type Site } from './site.ts';

const FAULTS = nightly(1000, 20_000);

describe('a page with thousands of findings', () => {
  let site: Site;
  afterEach(() => site.close());

  async function test(code: string): Promise<TestedPage> {
    site = await openSite({ '/': html(`<script>document.querySelector('main').innerHTML = ${code}</script>`) });
    const { pages } = await scan(`${site.origin}/`, { maxPages: 1 }, { pageBudgetMs: 60_000 });
    return testedOf(pages)[0]!;
  }
  const findingOf = (page: TestedPage, rule: string): ReportViolation => page.violations.find((violation) => violation.rule === rule)!;

  it(`counts ${FAULTS} of them, by root cause, and describes the first`, async () => {
    const page = await test(`'<img src="/a.png">'.repeat(${FAULTS - 1}) + '<img src="/a.png" class="hero">'`);
    const images = findingOf(page, 'image-alt');
    expect(images.nodes_total).to.equal(FAULTS);
    expect(countViolations(page.violations).critical).to.equal(FAULTS);
    expect(images.nodes).to.have.length(NODES_MAX);
    expect(images.nodes.at(-1)!.html, 'the first element of each root cause is kept').to.equal('<img src="/a.png" class="hero">');
    expect(images.nodes_beyond).to.deep.equal([
      { fingerprint: rootCauseFingerprint('image-alt', images.nodes[0]!), elements: FAULTS - NODES_MAX },
    ]);
    expect(rootCausesOf([page], 'violations').map(({ elements }) => elements)).to.deep.equal([FAULTS - 1, 1]);
    expect(page.caveats.filter(({ kind }) => kind === 'causes_left_out')).to.deep.equal([]);
    expect(JSON.stringify(page).length).to.be.lessThan(500_000);
  });

  it('says that it has more root causes than the report describes', async () => {
    const page = await test(
      `Array.from({ length: 700 }, (_, at) => '<button><svg><path d="M' + String.fromCodePoint(0x4e00 + at) + '"></path></svg></button>').join('')`,
    );
    const buttons = findingOf(page, 'button-name');
    expect(buttons).to.include({ nodes_total: 700 }).and.not.to.have.property('nodes_beyond');
    expect(buttons.nodes).to.have.length(NODES_MAX);
    const [caveat] = page.caveats.filter(({ kind }) => kind === 'causes_left_out');
    expect(caveat?.message).to.include(`button-name (${700 - NODES_MAX} of 700 elements)`);
  });

  it('describes the first elements in full, and the others by their start tags', async () => {
    const inside = `<svg aria-hidden="true">${`<path d="${'M1 1h2'.repeat(60)}"></path>`.repeat(3)}</svg>`;
    const page = await test(`${JSON.stringify(`<button class="wide" type="button">${inside}</button>`)}.repeat(450)`);
    const all = findingOf(page, 'button-name').nodes.map((node) => node.html);
    expect(all).to.have.length(450);
    expect(all[0]).to.include(inside);
    expect(all.at(-1)).to.equal('<button class="wide" type="button">…</button>');
    expect(all.reduce((sum, text) => sum + text.length, 0)).to.be.lessThan(400_000 + 2000 + 450 * 300);
  });
});
