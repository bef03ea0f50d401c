/**
 * The drafts by success criterion. `openacr/openacr-0.1.0.json` is the schema of https://github.com/GSA/openacr (commit 86f890a0, public
 * domain and CC0 1.0). `openacr/catalogs.json` has the criteria and terms of its catalogs, without their texts.
 */
import { readFileSync } from 'node:fs';
import { Ajv } from 'ajv';
import { expect } from 'chai';
import { parse } from 'yaml';
import { LOCALES } from '../../core/scan/locales.ts';
import { WCAG_LEVELS, WCAG_VERSIONS, type WcagLevel, type WcagVersion } from '../../core/scan/options.ts';
import { barriersOf, openAcrOf } from '../../report/formats/drafts.ts';
import { ruleResults } from '../../report/results/rule-outcomes.ts';
import { type TestedPage, testedPages } from '../../report/schema/page.ts';
import type { Report } from '../../report/schema/report.ts';
import { WORDS } from '../../report/words/words.ts';
import { HOSTILE_TEXTS } from '../support/hostile-texts.ts';
import { rendered } from '../support/rendered-markdown.ts';
import { cleanReport, hostileReport, largeReport, sampleNode, sampleViolation, smallReport } from './samples.ts';

interface Draft {
  title: string;
  author: Record<string, string>;
  vendor: Record<string, string>;
  notes: string;
  evaluation_methods_used: string;
  catalog: string;
  chapters: Record<string, { disabled?: boolean; criteria?: Criterion[] }>;
}
interface Criterion {
  num: string;
  components: [{ name: string; adherence: { level: string; notes: string } }];
}

const fileOf = (name: string): unknown => JSON.parse(readFileSync(new URL(`openacr/${name}.json`, import.meta.url), 'utf8'));
const CATALOGS = fileOf('catalogs') as Record<string, { terms: string[]; chapters: Record<string, string[]> }>;
const isValid = new Ajv({ allErrors: true }).compile(fileOf('openacr-0.1.0') as object);

/** Reads a draft as the tools of OpenACR do: YAML with timestamps, the schema, and the names of the catalog. */
function draftOf(report: Report): Draft {
  const draft = parse(openAcrOf(report), { schema: 'yaml-1.1' }) as Draft;
  isValid(draft);
  expect(isValid.errors).to.equal(null);
  const { terms, chapters } = CATALOGS[draft.catalog]!;
  for (const [chapter, { criteria }] of Object.entries(draft.chapters))
    if (criteria !== undefined) {
      expect(criteria.map(({ num }) => num)).to.have.members(chapters[chapter]!);
      for (const { components } of criteria) {
        expect(components.map(({ name }) => name)).to.deep.equal(['web']);
        expect(components[0].adherence.level).to.be.oneOf(terms);
      }
    }
  return draft;
}

const adherences = ({ chapters }: Draft) =>
  new Map(Object.values(chapters).flatMap(({ criteria = [] }) => criteria.map(({ num, components: [web] }) => [num, web.adherence])));

/** A report for another target. */
function targeted(report: Report, level: WcagLevel, version: WcagVersion): Report {
  const { scan } = report;
  Object.assign(scan.options, { wcag_level: level, wcag_version: version });
  const table = report.rules.map(({ id }) => id);
  const results = ruleResults(report.pages, table, scan.options);
  const moved = (at: number): number => results.rules.findIndex(({ id }) => id === table[at]);
  for (const page of testedPages(report.pages)) {
    page.rules_passed = page.rules_passed.map(moved);
    page.rules_not_applicable = page.rules_not_applicable.map(moved);
  }
  return Object.assign(report, results);
}

/** All texts that a page can choose: its address, and the names of rules, which the pod sends. */
function withText(report: Report, text: string): Report {
  const [page] = testedPages(report.pages) as [TestedPage];
  page.url = `https://www.example.org/${text}`;
  page.violations.push(sampleViolation(text, 'minor', text, [sampleNode(text, text)], [text]));
  report.scan.url = page.url;
  report.tools.browser = text;
  return targeted(report, 'AA', '2.2');
}

describe('the draft of a conformance report', () => {
  for (const version of WCAG_VERSIONS)
    for (const level of WCAG_LEVELS)
      it(`is valid OpenACR for WCAG ${version} ${level}, with every criterion of A and AA, and of AAA only if the scan tested it`, () => {
        const { catalog, chapters } = draftOf(targeted(smallReport(), level, version));
        expect(catalog).to.include(`-wcag-${version}-en`);
        expect(chapters['success_criteria_level_aaa']!.disabled).to.equal(level === 'AAA' ? undefined : true);
      });

  const outcomes = (edit: (pages: TestedPage[]) => void) => {
    const report = cleanReport();
    edit(testedPages(report.pages));
    return adherences(draftOf(targeted(report, 'AA', '2.2')));
  };
  const image = () => sampleViolation('image-alt', 'critical', 'x', [sampleNode('<img>', 'img')]);
  for (const [what, level, note, edit] of [
    [
      'fails on all pages',
      'does-not-support',
      'failed on 2 of the 2 tested pages',
      (pages) => pages.forEach((page) => page.violations.push(image())),
    ],
    ['fails on some pages', 'partially-supports', 'failed on 1 of the 2 tested pages', ([page]) => void page!.violations.push(image())],
    ['cannot be decided on some pages', 'not-evaluated', 'could not decide', ([page]) => void page!.needs_review.push(image())],
    ['passed by rules', 'not-evaluated', 'test only a part', () => undefined],
    [
      'has nothing on any page that its rules are about',
      'not-evaluated',
      'No tested page has',
      (pages) =>
        pages.forEach((page) =>
          Object.assign(page, { rules_passed: [], rules_not_applicable: [...page.rules_passed, ...page.rules_not_applicable] }),
        ),
    ],
  ] as [string, string, string, (pages: TestedPage[]) => void][])
    // prettier-ignore
    it(`has ${level} for a criterion that ${what}`, () => {
      const { level: found, notes } = outcomes(edit).get('1.1.1')!;
      expect(found).to.equal(level);
      expect(notes).to.include(note);
    });

  it('says of a criterion that no rule tests it', () => {
    expect(outcomes(() => undefined).get('1.2.1')).to.deep.equal({
      level: 'not-evaluated',
      notes: 'Not evaluated. No rule tests it. A person must evaluate it.',
    });
  });

  it('says that WCAG 2.2 has removed 4.1.1, which its catalog still has', () => {
    expect(outcomes(() => undefined).get('4.1.1')!.notes).to.equal('Not evaluated. WCAG 2.2 has removed this criterion.');
  });

  it('fails a criterion by the pages to which its rules apply', () => {
    const report = cleanReport();
    const [first, second] = testedPages(report.pages) as [TestedPage, TestedPage];
    const at = report.rules.findIndex(({ id }) => id === 'image-alt');
    first.violations.push(image());
    second.rules_passed = second.rules_passed.filter((position) => position !== at);
    second.rules_not_applicable.push(at);
    const { level, notes } = adherences(draftOf(targeted(report, 'AA', '2.2'))).get('1.1.1')!;
    expect(level).to.equal('does-not-support');
    expect(notes).to.include('failed on 1 of the 1 tested pages');
  });

  it('never says that anything is supported, and asks for what a person must fill in', () => {
    const draft = draftOf(cleanReport());
    expect([...new Set([...adherences(draft).values()].map(({ level }) => level))]).to.deep.equal(['not-evaluated']);
    expect(draft.title).to.match(/^DRAFT: /);
    expect(draft.notes).to.include('does not claim conformance').and.not.include('canceled');
    for (const text of [...Object.values(draft.author), ...Object.values(draft.vendor)]) expect(text).to.match(/^TO FILL IN: /);
  });

  it('has the rules, the numbers and examples of pages as evidence', () => {
    const { notes } = adherences(draftOf(smallReport())).get('1.4.3')!;
    const { shown } = rendered(notes);
    expect(shown).to.include('(color-contrast): 12 elements on 12 pages').and.include('and on 9 more pages');
    expect(shown.match(/https:/g)).to.have.length(3);
  });

  it('marks known issues, as the list of barriers does', () => {
    const report = smallReport();
    report.groups.find(({ rule }) => rule === 'color-contrast')!.known_elements = 3;
    const marked = '(color-contrast): 12 elements (Known issues: 3) on 12 pages';
    expect(rendered(adherences(draftOf(report)).get('1.4.3')!.notes).shown).to.include(marked);
    expect(rendered(barriersOf(report)).shown).to.include(marked);
  });

  it('says that a report is partial', () =>
    expect(draftOf({ ...smallReport(), partial: true }).notes).to.include('The scan was canceled.'));
});

describe('the list of known barriers', () => {
  for (const locale of LOCALES)
    it(`names in ${locale} each failing criterion with its clause, its rules and its pages, and claims nothing`, () => {
      const { barriers, aboutAutomated } = WORDS[locale].report;
      const { shown } = rendered(barriersOf(smallReport(undefined, locale)));
      for (const text of [barriers.intro, aboutAutomated, 'EN 301 549, 9.1.1.1', 'EN 301 549, 9.1.4.3', '(color-contrast)', '/shop/cart'])
        expect(shown).to.include(text);
      expect(shown).to.not.include('2.4.2');
    });

  it('has what fails outside of the criteria of the target too', () => {
    const text = barriersOf(smallReport());
    expect(text.slice(text.indexOf('## Without a success criterion'))).to.include('landmark-unique');
  });

  it('names no clause that the export does not have', () => {
    const report = smallReport();
    for (const rule of report.rules) rule.en_301_549 = ['12.1.1'];
    expect(barriersOf(report))
      .to.match(/^## 1\.1\.1 .*\(A\)$/m)
      .and.not.include('EN 301 549');
  });

  it('says that nothing was found, how many pages it leaves out, and that a report is partial', () => {
    expect(barriersOf(cleanReport())).to.include('found no violations on the tested pages').and.not.include('canceled');
    expect(barriersOf(largeReport(30, 1, false))).to.include('and on 10 more pages');
    expect(barriersOf({ ...cleanReport(), partial: true })).to.include('The scan was canceled.');
  });
});

describe('the drafts of a hostile site', () => {
  const ELEMENTS = ['h1', 'h2', 'p', 'ul', 'li', 'code', 'strong', 'a'];
  const isHarmless = (markdown: string): void => {
    const { elements, comments } = rendered(markdown);
    expect(comments).to.deep.equal([]);
    for (const { tag, attributes } of elements) {
      expect(tag).to.be.oneOf(ELEMENTS);
      expect(Object.keys(attributes)).to.deep.equal(tag === 'a' ? ['href'] : []);
      if (tag === 'a') expect(attributes.href).to.match(/^https:\/\/www\.example\.org\/[^\s<>"`\\]*$/);
    }
  };

  for (const text of HOSTILE_TEXTS)
    it(`run nothing of ${JSON.stringify(text).slice(0, 60)}`, () => {
      isHarmless(barriersOf(withText(smallReport(), text)));
      const draft = draftOf(withText(smallReport(), text));
      for (const { notes } of adherences(draft).values()) isHarmless(notes);
      isHarmless(draft.notes);
      isHarmless(draft.evaluation_methods_used);
      // Readers of YAML refuse other control characters.
      expect(openAcrOf(withText(smallReport(), text))).to.match(/^[\n\x20-\x7e\xa0-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]*$/u);
    });

  it('are made of texts that strain the layout', () => {
    isHarmless(barriersOf(hostileReport()));
    draftOf(hostileReport());
  });
});
