/** Issues for trackers: what they say, that links stay short, and that no page can write into them. */
import { expect } from 'chai';
import fc from 'fast-check';
import { LOCALES } from '../../core/scan/locales.ts';
import { issueLink, LINK_MAX, ticketOf, trackerOf, type TicketAbout } from '../../report/formats/ticket.ts';
import type { RootCause } from '../../report/schema/root-cause.ts';
import { sampleNode } from './samples.ts';

const about: TicketAbout = {
  locale: 'en',
  scanId: 'scan',
  causeUrl: 'https://curbcut.example/dashboard/scans/scan?cause=0#causes',
  element: 'img.logo',
};
const causeWith = (over: Partial<RootCause> = {}, html = '<img src="/logo.png">', selector = '#logo'): RootCause => ({
  fingerprint: '0123456789abcdef',
  rule: 'image-alt',
  impact: 'critical',
  wcag: ['1.1.1'],
  help: 'help',
  help_url: 'https://example.org/',
  pages: 12,
  elements: 30,
  example: sampleNode(html, selector),
  page_urls: ['https://www.example.org/', 'https://www.example.org/shop'],
  ...over,
});

const JIRA = { kind: 'jira', url: 'https://acme.atlassian.net', project: '10000', issueType: '10001' } as const;
const jiraText = (link: string): string => new URL(link).searchParams.get('description')!;

/** The lines outside of code blocks and of lists of addresses, as CommonMark reads them. */
function outside(body: string): string[] {
  let fence: string | null = null;
  const lines: string[] = [];
  for (const line of body.split('\n')) {
    const [, run] = /^ {0,3}(`{3,})/.exec(line) ?? [];
    if (fence !== null) {
      if (run !== undefined && run.length >= fence.length && /^ {0,3}`+\s*$/.test(line)) fence = null;
    } else if (run === undefined) lines.push(line);
    else fence = run;
  }
  expect(fence, 'every code block ends').to.equal(null);
  return lines.filter((line) => !/^- <https?:\/\/[^\s<>`]*>$/.test(line));
}

describe('an issue for a tracker', () => {
  it('says what, where, why it matters, how to fix and how to check it', () => {
    const { title, body } = ticketOf(causeWith(), about);
    expect(title).to.equal('Images must have alternative text: img.logo');
    expect(body.split('\n').filter((line) => /^(?:\*\*|## |- |curbcut|<|#logo)/.test(line))).to.deep.equal([
      '**Images must have alternative text**',
      '## Why it matters',
      '## How to fix it',
      '## Where',
      '- <https://www.example.org/>',
      '- <https://www.example.org/shop>',
      '- and 10 more pages',
      '#logo',
      '<img src="/logo.png">',
      '## How to check that it is fixed',
      "curbcut check 'https://www.example.org/' --cause 0123456789abcdef --with scan",
      '## The finding',
      `<${about.causeUrl}>`,
    ]);
    expect(ticketOf(causeWith(), { ...about, locale: 'de' }).body).to.include('## So prüfen Sie, ob es behoben ist');
  });

  it('shows what pages of the site say only in code blocks and addresses, and its link stays short', () => {
    const hostile = fc.oneof(
      fc.string({ unit: 'grapheme', maxLength: 3_000 }),
      fc.array(fc.constantFrom('```', '````\n', '`', '\n', '\r\n', '~~~', '@all', '<script>', '</script>', '![a](//b)', '#1', '\u202e', ' ', "'", '$(x)', '> ', '{noformat}', '{code:a}', '[~admin]', '!a.png!'), { maxLength: 400 }).map((parts) => parts.join('')), // prettier-ignore
    );
    const expected = outside(ticketOf(causeWith({ pages: 12, page_urls: [] }), about).body).filter(
      (line) => line !== '- and 10 more pages',
    );
    const ownText = jiraText(issueLink(JIRA, causeWith(), about));
    fc.assert(
      fc.property(hostile, hostile, hostile, hostile, fc.constantFrom(...LOCALES), (html, selector, path, element, locale) => {
        const url = `https://www.example.org/${path}`;
        const cause = causeWith({ page_urls: Array<string>(12).fill(url), wcag: ['1.1.1', path], help: html }, html, selector);
        const sections = outside(ticketOf(cause, { ...about, element }).body).filter((line) => !/^(?:- and \d+ more pages|)$/.test(line));
        const known = new Set([...expected, '## Where', '## How to check that it is fixed']);
        expect(sections.filter((line) => !known.has(line))).to.deep.equal([]);
        const link = issueLink(
          { kind: 'gitlab', url: 'https://gitlab.example/acme/shop' },
          { ...cause, rule: 'other-rule' },
          { ...about, element, locale },
        );
        expect(link.length).to.be.at.most(LINK_MAX);
        expect(URL.parse(link)?.pathname).to.equal('/acme/shop/-/issues/new');
        const description = jiraText(issueLink(JIRA, cause, about));
        const [plain, own] = [description, ownText].map((text) => text.split('{noformat}'));
        expect(plain!.join('')).not.to.match(/\{[a-z]|\[~/i);
        const lines = (parts: string[]) => parts.filter((_, at) => at % 2 === 0).flatMap((part) => part.split('\n'));
        expect(lines(plain!).filter((line) => !lines(own!).includes(line))).to.deep.equal([]);
      }),
    );
  });

  it('is linked to the tracker of a repository on GitHub or GitLab', () => {
    for (const [repository, tracker] of [
      ['https://github.com/acme/shop', { kind: 'github', url: 'https://github.com/acme/shop' }],
      ['https://github.acme.example/acme/shop.git', { kind: 'github', url: 'https://github.acme.example/acme/shop' }],
      ['https://gitlab.example/group/sub/shop/', { kind: 'gitlab', url: 'https://gitlab.example/group/sub/shop' }],
      ['https://user:secret@github.com/acme/shop', null],
      ['http://github.com/acme/shop', null],
      ['https://github.com/acme', null],
      ['https://example.org/github/shop', null],
      ['javascript:alert(1)//github.com/acme/shop', null],
    ] as const)
      expect(trackerOf(repository), repository).to.deep.equal(tracker);
    const link = new URL(issueLink(trackerOf('https://github.com/acme/shop')!, causeWith(), about));
    expect(link.searchParams.get('body')).to.equal(ticketOf(causeWith(), about).body);
    const { origin, pathname, searchParams } = new URL(issueLink(JIRA, causeWith(), about));
    expect(origin + pathname).to.equal('https://acme.atlassian.net/secure/CreateIssueDetails!init.jspa');
    expect([...searchParams].slice(0, 3)).to.deep.equal([['pid', '10000'], ['issuetype', '10001'], ['summary', ticketOf(causeWith(), about).title]]); // prettier-ignore
  });
});
