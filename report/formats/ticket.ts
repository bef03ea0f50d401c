/** A root cause as an issue for a tracker, in Markdown. What pages of the site say is only in code blocks and addresses. Pure. */
import type { Locale } from '../../core/scan/locales.ts';
import { ruleText } from '../rule-texts/rule-texts.ts';
import { standardsInReports } from '../rules/rules.ts';
import { standardsText } from '../rules/success-criteria.ts';
import { elementPath } from '../schema/page.ts';
import type { RootCause } from '../schema/root-cause.ts';
import { wordsIn } from '../words/words.ts';
import { uriOf } from './shared.ts';

export interface TicketAbout {
  locale: Locale;
  scanId: string;
  /** The address of the root cause at the service. */
  causeUrl: string;
  /** What the scan calls the element. */
  element: string;
}

export interface Ticket {
  title: string;
  body: string;
}

interface Limits {
  html: number;
  selector: number;
  pages: number;
}

/** GitHub refuses addresses of more than 8,191 bytes (github/docs#5136), and other servers have buffers of 8 KiB. */
export const LINK_MAX = 8_000;
const FULL: Limits = { html: 2_000, selector: 1_000, pages: 10 };
const SHORTER: readonly Limits[] = [FULL, { html: 500, selector: 300, pages: 3 }, { html: 200, selector: 100, pages: 1 }];
const SHORTEST: Limits = { html: 0, selector: 0, pages: 0 };
const TITLE_MAX = 120;

/** The issue of a root cause: what, where, why it matters, how to fix and how to check it. */
export function ticketOf(cause: RootCause, { locale, scanId, causeUrl, element }: TicketAbout, limits: Limits = FULL): Ticket {
  const { rule, fingerprint, elements, pages, page_urls, example } = cause;
  const { texts, count } = wordsIn(locale, 'report');
  const { texts: findings, count: countFindings } = wordsIn(locale, 'findings');
  const known = ruleText(rule, locale);
  const name = known?.help ?? (/^[\w-]{1,100}$/.test(rule) ? rule : '');
  const criteria = cause.wcag.filter((criterion) => /^\d+\.\d+\.\d+$/.test(criterion));
  const urls = page_urls.filter((url) => /^https?:\/\//i.test(url)).map(uriOf);
  const listed = urls.slice(0, limits.pages);
  const section = (heading: string, text: string | undefined): string[] => (text ? [`## ${heading}`, text] : []);
  const where = [
    ...(listed.length === 0
      ? []
      : [
          [
            ...listed.map((url) => `- <${url}>`),
            ...(pages > listed.length ? [`- ${countFindings(findings.morePages, pages - listed.length)}`] : []),
          ].join('\n'),
        ]),
    ...(limits.selector === 0 ? [] : [fenced(cut(elementPath(example), limits.selector), 'css')]),
    ...(limits.html === 0 ? [] : [fenced(cut(example.html, limits.html), 'html')]),
  ];
  const command =
    listed[0] === undefined ? undefined : `curbcut check '${listed[0].replaceAll("'", '%27')}' --cause ${fingerprint} --with ${scanId}`;
  return {
    title: cut(`${name}: ${element}`.replaceAll(/\p{C}/gu, ' '), TITLE_MAX),
    body: [
      `**${name}**`,
      [
        ...standardsText(criteria, standardsInReports(rule), locale),
        `${count(texts.elements, elements)} ${count(texts.onPages, pages)}`,
      ].join(' · '),
      ...section(texts.whyItMatters, known?.why),
      ...section(texts.howToFix, known?.fix),
      ...section(findings.ticket.where, where.join('\n\n')),
      ...section(findings.ticket.check, command && fenced(command, 'sh')),
      ...section(findings.ticket.scan, `<${uriOf(causeUrl)}>`),
    ].join('\n\n'),
  };
}

/** The end of a cut text is marked. Counts characters and not halves of them. */
function cut(text: string, max: number): string {
  const characters = [...text.toWellFormed()];
  return characters.length <= max ? characters.join('') : `${characters.slice(0, max - 1).join('')}…`;
}

/** A code block whose fence is longer than any in its text. Markdown, HTML and mentions have no effect within. */
function fenced(text: string, language: string): string {
  const runs = text.match(/`+/g) ?? [];
  const fence = '`'.repeat(Math.max(3, ...runs.map((run) => run.length + 1)));
  return `${fence}${language}\n${text.replaceAll(/\r\n?/g, '\n')}\n${fence}`;
}

/** The trackers whose pages for a new issue can be filled in by a link, with the names of their parameters. */
const TRACKERS = {
  github: { path: '/issues/new', title: 'title', body: 'body' },
  gitlab: { path: '/-/issues/new', title: 'issue[title]', body: 'issue[description]' },
} as const;

/** A repository with issues. */
export interface Tracker {
  kind: keyof typeof TRACKERS;
  /** Without a slash at the end. */
  url: string;
}

/** The tracker of a repository, by its host; null if it has none of these, or is no https address of a project. */
export function trackerOf(repository: string): Tracker | null {
  const url = URL.parse(repository);
  if (url === null || url.protocol !== 'https:' || url.username !== '' || url.password !== '') return null;
  const kind = /(^|\.)github\./.test(url.hostname) ? 'github' : url.hostname.split('.').includes('gitlab') ? 'gitlab' : null;
  const path = url.pathname.replace(/(\.git)?\/*$/, '');
  return kind === null || !/^\/[^/]+\/[^/]+/.test(path) ? null : { kind, url: url.origin + path };
}

/** The address of a new issue that is filled in, at most `LINK_MAX` bytes. */
export function issueLink({ kind, url }: Tracker, cause: RootCause, about: TicketAbout): string {
  const { path, ...names } = TRACKERS[kind];
  const linkOf = (limits: Limits): string => {
    const { title, body } = ticketOf(cause, about, limits);
    return `${url}${path}?${new URLSearchParams({ [names.title]: title, [names.body]: body }).toString()}`;
  };
  return SHORTER.map(linkOf).find((link) => link.length <= LINK_MAX) ?? linkOf(SHORTEST);
}
