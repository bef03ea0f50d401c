import { expect } from 'chai';
import { LOCALES } from '../../core/scan/locales.ts';
import type { ReportDiscovery } from '../schema/report.ts';
import type { RootCause } from '../schema/root-cause.ts';
import { wordsIn } from '../words/words.ts';
import { discoveryNote, discoveryNotes, leftLines } from './gaps.ts';
import { hasUncountedStates } from './sentences.ts';

const found = (links: number, ...hosts: [host: string, links: number, entries: number][]): ReportDiscovery => ({
  links,
  files: 0,
  hash_links: 0,
  other_hosts: hosts.map(([host, links, sitemap_entries]) => ({ host, links, sitemap_entries })),
  other_hosts_left: 0,
  sitemaps_cut: 0,
});
const TO_DO =
  'to test it too, set crawl.hosts (--host) or scan it; if this site is a preview of it, set crawl.rewriteHost (--rewrite-host).';
const MANY = { tested: 5, maxPages: 50, passed: true };
const ONE = { ...MANY, tested: 1 };

describe('what a message says about pages that a scan may have missed', () => {
  const cases: [string, ReportDiscovery, typeof MANY, string | null][] = [
    [
      'a preview whose links name the production host',
      found(12, ['www.town.example', 12, 0]),
      ONE,
      `Found: only one page was tested although 12 links were found; www.town.example is not part of the scan, but named by 12 links: ${TO_DO}`,
    ],
    [
      'most links of several pages',
      found(9, ['a.test', 5, 0], ['b.test', 1, 0]),
      MANY,
      `Found: a.test is not part of the scan, but named by 5 links: ${TO_DO}`,
    ],
    [
      'a sitemap of another host',
      found(3, ['a.test', 0, 6]),
      MANY,
      `Found: a.test is not part of the scan, but named by 6 sitemap entries: ${TO_DO}`,
    ],
    [
      'an application whose views are fragments',
      { ...found(0), hash_links: 2 },
      ONE,
      'Found: only one page was tested although 2 links were found; 2 links lead to fragments that name no element. To test them as views of an application, set crawl.hashRoutes: all (--hash-routes all).',
    ],
    ['a page whose links were not tested', found(1), ONE, 'Found: only one page was tested although 1 link was found.'],
    [
      'a gate that fails for other reasons',
      found(2, ['a.test', 2, 0]),
      { ...ONE, passed: false },
      'Found: only one page was tested although 2 links were found.',
    ],
    ['links to hosts around a site', found(9, ['a.test', 4, 0], ['b.test', 4, 1]), MANY, null],
    ['a site of one page', found(0), ONE, null],
    ['a scan of one page', found(3, ['a.test', 3, 0]), { ...ONE, maxPages: 1 }, null],
  ];
  for (const [name, discovery, scan, note] of cases) it(name, () => expect(discoveryNote(discovery, scan)).to.equal(note));

  it('begins each sentence with a capital letter or a number, and names hosts that nothing names', () => {
    const discovery = { ...found(1, ['a.test', 1, 0]), hosts_unnamed: ['shop.a.test'] };
    for (const locale of LOCALES)
      for (const line of leftLines({ addressesLeft: 40, discovery }, wordsIn(locale, 'report'), true))
        expect(line).to.match(/^[\p{Lu}\d]/u);
    expect(leftLines({ addressesLeft: 0, discovery }, wordsIn('de', 'report'), true)).to.include(
      'Keine Seite von shop.a.test wurde geprüft, weil kein Link und keine Sitemap der Website eine nennt.',
    );
  });

  it('names all hosts in its notes', () => {
    const notes = discoveryNotes({
      ...found(3, ['a.test', 1, 2], ['b.test', 0, 1]),
      other_hosts_left: 7,
      sitemaps_cut: 1,
      hosts_unnamed: ['shop.a.test'],
    });
    expect(notes.map(({ kind, message }) => `${kind} ${message}`)).to.deep.equal([
      'other_hosts Not part of the scan: a.test (1 link and 2 sitemap entries), b.test (1 sitemap entry), more hosts (7 addresses). To test one with this site, set crawl.hosts (--host); if this site is a preview of it, set crawl.rewriteHost (--rewrite-host).',
      'hosts_unnamed No page of shop.a.test was tested, because no link and no sitemap of the site names one.',
      'sitemaps_cut 1 sitemap was not read to the end, because enough pages were found before.',
    ]);
  });
});

describe('what a report says about states that do not count', () => {
  const states = { version: 1, counted: false, kinds: [] };
  const cause = (at_rest?: number) => ({ elements: 2, ...(at_rest !== undefined && { at_rest }) }) as RootCause;
  for (const [found, said] of [
    [[], false],
    [[cause(), cause(2)], false],
    [[cause(), cause(1)], true],
  ] as const)
    it(`depends on whether something was found only there: ${said} for ${JSON.stringify(found)}`, () => {
      expect(hasUncountedStates({ states, review_groups: [...found] })).to.equal(said);
      expect(hasUncountedStates({ states: { ...states, counted: true }, review_groups: [...found] })).to.equal(false);
    });
});
