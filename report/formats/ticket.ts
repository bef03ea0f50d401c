/** A root cause as an issue for a tracker, in Markdown or for Jira. What pages of the site say is only in code blocks and addresses. Pure. */
import type { Locale } from '../../core/scan/locales.ts';
import { type Tracker, trackerUrl } from '../../core/organisation.ts';
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

const MARKDOWN = {
  strong: (text: string) => `**${text}**`,
  heading: (text: string) => `## ${text}`,
  block: fenced,
  /** @param more our text about further ones */
  pages: (urls: readonly string[], more: readonly string[]) =>
    [...urls.map((url) => `<${url}>`), ...more].map((line) => `- ${line}`).join('\n'),
  link: (url: string) => `<${url}>`,
};
type Markup = typeof MARKDOWN;

/** Plain text that reads well where Jira shows it as it is. Its wiki markup has no effect: what is foreign is in blocks without format. */
const JIRA: Markup = {
  strong: (text) => text,
  heading: (text) => `${text}:`,
  block: unformatted,
  pages: (urls, more) => unformatted([...urls, ...more].join('\n')),
  link: (url) => url,
};

/** The issue of a root cause: what, where, why it matters, how to fix and how to check it. */
export function ticketOf(cause: RootCause, about: TicketAbout, limits: Limits = FULL, markup: Markup = MARKDOWN): Ticket {
  const { locale, scanId, causeUrl, element } = about;
  const { rule, fingerprint, elements, pages, page_urls, example } = cause;
  const { texts, count } = wordsIn(locale, 'report');
  const { texts: findings, count: countFindings } = wordsIn(locale, 'findings');
  const known = ruleText(rule, locale);
  const name = known?.help ?? (/^[\w-]{1,100}$/.test(rule) ? rule : '');
  const criteria = cause.wcag.filter((criterion) => /^\d+\.\d+\.\d+$/.test(criterion));
  const urls = page_urls.filter((url) => /^https?:\/\//i.test(url)).map(uriOf);
  const listed = urls.slice(0, limits.pages);
  const section = (heading: string, text: string | undefined): string[] => (text ? [markup.heading(heading), text] : []);
  const where = [
    ...(listed.length === 0
      ? []
      : [markup.pages(listed, pages > listed.length ? [countFindings(findings.morePages, pages - listed.length)] : [])]),
    ...(limits.selector === 0 ? [] : [markup.block(cut(elementPath(example), limits.selector), 'css')]),
    ...(limits.html === 0 ? [] : [markup.block(cut(example.html, limits.html), 'html')]),
  ];
  const command =
    listed[0] === undefined ? undefined : `curbcut check '${listed[0].replaceAll("'", '%27')}' --cause ${fingerprint} --with ${scanId}`;
  return {
    title: cut(`${name}: ${element}`.replaceAll(/\p{C}/gu, ' '), TITLE_MAX),
    body: [
      markup.strong(name),
      [
        ...standardsText(criteria, standardsInReports(rule), locale),
        `${count(texts.elements, elements)} ${count(texts.onPages, pages)}`,
      ].join(' · '),
      ...section(texts.whyItMatters, known?.why),
      ...section(texts.howToFix, known?.fix),
      ...section(findings.ticket.where, where.join('\n\n')),
      ...section(findings.ticket.check, command && markup.block(command, 'sh')),
      ...section(findings.ticket.scan, markup.link(uriOf(causeUrl))),
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

/** A block in which Jira's wiki markup has no effect. Nothing in it looks like the begin of a macro, such as its end, or of a mention. */
function unformatted(text: string): string {
  return `{noformat}\n${text.replaceAll(/\r\n?/g, '\n').replaceAll(/\{(?=[a-z])|\[(?=~)/gi, '$& ')}\n{noformat}`;
}

/**
 * The pages for a new issue that a link can fill in, with the names of their parameters. Jira's are in Atlassian's "Creating Issues via
 * direct HTML links".
 */
const TRACKERS = {
  github: { path: '/issues/new', title: 'title', body: 'body', markup: MARKDOWN },
  gitlab: { path: '/-/issues/new', title: 'issue[title]', body: 'issue[description]', markup: MARKDOWN },
  jira: { path: '/secure/CreateIssueDetails!init.jspa', title: 'summary', body: 'description', markup: JIRA },
} as const;

/** The tracker of a repository, by its host; null if it has none of these, or is no https address of a project. */
export function trackerOf(repository: string): Tracker | null {
  const { hostname = '' } = URL.parse(repository) ?? {};
  const kind = /(^|\.)github\./.test(hostname) ? 'github' : hostname.split('.').includes('gitlab') ? 'gitlab' : null;
  const url = kind && trackerUrl(kind, repository);
  return kind && url !== null ? { kind, url } : null;
}

/** The address of a new issue that is filled in, at most `LINK_MAX` bytes. */
export function issueLink(tracker: Tracker, cause: RootCause, about: TicketAbout): string {
  const { path, markup, ...names } = TRACKERS[tracker.kind];
  const place: Record<string, string> = tracker.kind === 'jira' ? { pid: tracker.project, issuetype: tracker.issueType } : {};
  const linkOf = (limits: Limits): string => {
    const { title, body } = ticketOf(cause, about, limits, markup);
    return `${tracker.url}${path}?${new URLSearchParams({ ...place, [names.title]: title, [names.body]: body }).toString()}`;
  };
  return SHORTER.map(linkOf).find((link) => link.length <= LINK_MAX) ?? linkOf(SHORTEST);
}
