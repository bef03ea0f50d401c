/** Subject, HTML and text of each kind of mail, with texts from tested pages and other people made safe. Pure. */
import { explainScore } from '../../report/view/verdict.ts';
import { type CauseText, causeTexts } from '../../report/causes/element-names.ts';
import { contrastText } from '../../report/view/sentences.ts';
import type { RootCause } from '../../report/schema/root-cause.ts';
import type { ReportView } from '../../report/view/schema.ts';
import { type FailureKind, failureKindOf, withoutCharge } from '../../core/scan/phases.ts';
import { IMPACTS } from '../../core/scan/impacts.ts';
import type { Locale } from '../../core/scan/locales.ts';
import type { Outcome } from '../../core/scan/outcome.ts';
import type { Words } from '../../report/words/translated.ts';
import { wordsIn, type WordsIn } from '../../report/words/words.ts';
import type { MailData } from '../../stores/outbox/mails.ts';
import { type MailTopic, siteOfTopic } from '../../stores/outbox/subscriptions.ts';
import { type Block, type FindingPart, toHtml, toText } from './mail-blocks.ts';
import { mailPage } from './mail-layout.ts';
import { type LegalLinks, legalLinks } from '../web/legal.ts';

export interface Rendered {
  subject: string;
  html: string;
  text: string;
}

/** The result of a public scan. */
export interface ResultMail {
  /** The scanned address. */
  url: string;
  /** When the scan ended. */
  at: Date;
  ended:
    | { phase: 'done'; outcome: Outcome; view: ReportView | null }
    /** `reason` is one of `END_REASONS`, `message` in English. */
    | { phase: 'failed'; reason: string | undefined; message: string | null }
    | { phase: 'canceled' };
  resultUrl: string;
  unsubscribeUrl: string;
}

export interface RenderContext {
  locale: Locale;
  /** The host of this installation. */
  host: string;
  legal?: LegalLinks;
}

const FINDINGS_MAX = 5;
export const URL_MAX = 300;
export const NAME_MAX = 100;

export function renderScanResult(result: ResultMail, context: RenderContext): Rendered {
  const { locale, host } = context;
  const i18n = wordsIn(locale, 'mail');
  const { result: texts } = i18n.texts;
  const report = wordsIn(locale, 'report').texts;
  const site = oneLine(new URL(result.url).host, NAME_MAX);
  const page: Block[] = [
    { is: 'labelled', label: report.page, text: oneLine(result.url, URL_MAX) },
    { is: 'labelled', label: texts.testedAt, text: i18n.date(result.at) },
  ];
  const { subject, blocks } = content(result, site, page, i18n);
  const footer: Block[] = [
    { is: 'small', text: report.disclaimer },
    { is: 'small', text: i18n.format(texts.reason, { host }) },
    { is: 'link', text: texts.unsubscribe, url: result.unsubscribeUrl },
  ];
  return rendered(context, subject, blocks, footer);
}

function content({ ended, resultUrl }: ResultMail, site: string, page: Block[], i18n: WordsIn<'mail'>) {
  const { result: texts, linkFallback: fallback, statusPage } = i18n.texts;
  if (ended.phase === 'done') return doneContent(ended, { site, page, resultUrl }, i18n);
  if (ended.phase === 'canceled') {
    const { subject, heading, intro } = texts.canceled;
    const blocks: Block[] = [
      { is: 'h1', text: heading },
      { is: 'paragraph', text: intro },
      ...page,
      { is: 'button', text: statusPage, url: resultUrl, fallback },
    ];
    return { subject: i18n.format(subject, { site }), blocks };
  }
  return failedContent(ended, { site, page, resultUrl }, i18n);
}

/** What the page has is unknown, so that a visitor has to look at several things. The texts of the others say what to do. */
const UNKNOWN_KINDS: readonly FailureKind[] = ['unreachable', 'untestable'];

/** Says why in the language of the mail; the message of the scanner comes last, for those who maintain the page. */
function failedContent(
  { reason, message }: Extract<ResultMail['ended'], { phase: 'failed' }>,
  { site, page, resultUrl }: About,
  i18n: WordsIn<'mail'>,
) {
  const { subject, heading, todo, steps } = i18n.texts.result.failed;
  const { reasons, notCounted, details } = wordsIn(i18n.locale, 'publicPages').texts.failed;
  const kind = failureKindOf(reason);
  const blocks: Block[] = [
    { is: 'h1', text: heading },
    { is: 'paragraph', text: reasons[kind] },
  ];
  if (kind === 'ours') blocks.push({ is: 'paragraph', text: notCounted }, ...page);
  else if (!UNKNOWN_KINDS.includes(kind)) blocks.push(...page);
  else blocks.push(...page, { is: 'h2', text: todo }, { is: 'steps', items: steps });
  blocks.push({ is: 'button', text: i18n.texts.statusPage, url: resultUrl, fallback: i18n.texts.linkFallback });
  if (message !== null) blocks.push({ is: 'foreign', label: details, text: elementText(withoutCharge(message), 500), lang: 'en' });
  return { subject: i18n.format(subject, { site }), blocks };
}

interface About {
  site: string;
  page: Block[];
  resultUrl: string;
}

function doneContent(
  { outcome, view }: Extract<ResultMail['ended'], { phase: 'done' }>,
  { site, page, resultUrl }: About,
  i18n: WordsIn<'mail'>,
) {
  const { done } = i18n.texts.result;
  const report = wordsIn(i18n.locale, 'report').texts;
  const { violations, score } = outcome;
  const { total } = violations;
  // Public scans have no thresholds.
  const explained = explainScore({ outcome, thresholds: {} }, i18n.locale);
  const blocks: Block[] = [
    { is: 'h1', text: done.heading },
    { is: 'paragraph', text: total === 0 ? done.summaryNone : i18n.count(done.summary, total) },
    { is: 'figure', label: report.score, text: `${i18n.number(score)} ${report.outOf}` },
    { is: 'paragraph', text: `${explained.score} ${explained.counting}` },
    ...page,
  ];
  if (total > 0) {
    const rows = IMPACTS.map((impact) => [report.severities[impact], i18n.number(violations[impact])] as const);
    blocks.push(
      { is: 'h2', text: report.severityHeading },
      { is: 'table', columns: [report.severity, report.violations], rows: [...rows, [report.total, i18n.number(total)]] },
    );
  }
  if (view !== null && view.pages_with_gaps > 0) blocks.push({ is: 'paragraph', text: done.incomplete });
  const worst = view?.groups.slice(0, FINDINGS_MAX) ?? [];
  if (worst.length > 0)
    blocks.push(
      { is: 'h2', text: report.fixFirst },
      ...worst.map((cause) => finding(cause, causeTexts([cause], i18n.locale).get(cause)!, i18n)),
    );
  const more = (view?.groups_total ?? 0) - worst.length;
  if (more > 0) blocks.push({ is: 'paragraph', text: i18n.count(done.more, more) });
  const undecided = view?.score.needs_review ?? 0;
  if (undecided > 0) blocks.push({ is: 'paragraph', text: i18n.count(done.review, undecided) });
  blocks.push({ is: 'button', text: done.button, url: resultUrl, fallback: i18n.texts.linkFallback });
  return { subject: total === 0 ? i18n.format(done.subjectNone, { site }) : i18n.count(done.subject, total, { site }), blocks };
}

function finding(cause: RootCause, { title, why, fix, foreign }: CauseText, i18n: WordsIn<'mail'>): Block {
  const report = wordsIn(i18n.locale, 'report').texts;
  const parts: FindingPart[] = [];
  if (!foreign) parts.push({ label: report.whyItMatters, text: why }, { label: report.howToFix, text: fix });
  const { contrast } = cause.example;
  if (contrast !== undefined) parts.push({ contrast: contrastText(contrast, wordsIn(i18n.locale, 'report')) });
  parts.push({ label: report.element, code: elementText(cause.example.html) });
  return {
    is: 'finding',
    impact: cause.impact,
    severity: report.severities[cause.impact],
    title: oneLine(title, URL_MAX),
    elements: i18n.count(report.elements, cause.elements),
    parts,
  };
}

export function renderInvitation(data: MailData['invitation'], context: RenderContext): Rendered {
  const i18n = wordsIn(context.locale, 'mail');
  const values = { organisation: oneLine(data.organisation, NAME_MAX), invitedBy: oneLine(data.invitedBy, NAME_MAX) };
  return linkMail(i18n.texts.invitation, { ...data, values }, i18n, context);
}

export function renderConsent({ topics, ...data }: MailData['recipient_consent'], context: RenderContext): Rendered {
  const i18n = wordsIn(context.locale, 'mail');
  const [organisation, invitedBy] = [oneLine(data.organisation, NAME_MAX), oneLine(data.invitedBy, NAME_MAX)];
  const mails = topics.map((topic) => oneLine(topicText(topic, context.locale), NAME_MAX * 2)).join(' · ');
  return linkMail(i18n.texts.consent, { ...data, values: { organisation, invitedBy, mails, host: context.host } }, i18n, context);
}

/** What mails of a topic are about. */
export function topicText(topic: MailTopic, locale: Locale): string {
  const { texts, format } = wordsIn(locale, 'publicPages');
  const { own, weekly, site: ofSite } = texts.stopMails;
  const site = siteOfTopic(topic);
  return topic === 'weekly' ? weekly : site === null ? own : format(ofSite, { site });
}

export function renderPasswordReset(data: MailData['password_reset'], context: RenderContext): Rendered {
  const i18n = wordsIn(context.locale, 'mail');
  return linkMail(i18n.texts.passwordReset, { ...data, values: { host: context.host } }, i18n, context);
}

/** @param data `url` is the page of the account */
export function renderAccountNotice(
  { event, at, client, url }: MailData['account_notice'] & { url: string },
  context: RenderContext,
): Rendered {
  const i18n = wordsIn(context.locale, 'mail');
  const { accountNotice: texts } = i18n.texts;
  const { subject, heading, intro } = texts[event];
  const blocks: Block[] = [
    { is: 'h1', text: heading },
    { is: 'paragraph', text: i18n.format(intro, { host: context.host }) },
    { is: 'labelled', label: texts.at, text: i18n.date(at) },
    ...(client === null
      ? []
      : [
          { is: 'labelled' as const, label: texts.network, text: oneLine(client.network, NAME_MAX) },
          { is: 'labelled' as const, label: texts.browser, text: oneLine(client.browser, NAME_MAX) },
        ]),
    { is: 'paragraph', text: client === null ? texts.byAdministrator : texts.ignore },
    { is: 'h2', text: texts.todo },
    { is: 'steps', items: texts.steps },
    { is: 'button', text: texts.button, url, fallback: i18n.texts.linkFallback },
  ];
  return rendered(context, subject, blocks);
}

/** @param data `url` is the page of the webhook */
export function renderWebhookStopped(data: Omit<MailData['webhook_stopped'], 'path'> & { url: string }, context: RenderContext): Rendered {
  const { locale, host } = context;
  const i18n = wordsIn(locale, 'mail');
  const { webhookStopped: texts } = i18n.texts;
  const values = { host, organisation: oneLine(data.organisation, NAME_MAX), webhook: oneLine(data.webhook, NAME_MAX) };
  const why = { endpoint: oneLine(data.host, NAME_MAX), date: i18n.date(data.since) };
  const blocks: Block[] = [
    { is: 'h1', text: texts.heading },
    { is: 'paragraph', text: i18n.format(texts.intro, values) },
    { is: 'paragraph', text: i18n.format(texts[data.reason], why) },
    { is: 'paragraph', text: texts.lost },
    { is: 'button', text: texts.button, url: data.url, fallback: i18n.texts.linkFallback },
  ];
  return rendered(context, i18n.format(texts.subject, values), blocks);
}

/** @param data `url` is the page of what the mail is about */
export function renderOwnerNotice(
  { event, url, ...data }: Omit<MailData['owner_notice'], 'path'> & { url: string },
  context: RenderContext,
): Rendered {
  const { locale, host } = context;
  const i18n = wordsIn(locale, 'mail');
  const { ownerNotice: texts } = i18n.texts;
  const [organisation = '', person = '', about = ''] = [data.organisation, data.person, data.subject].map((text) =>
    oneLine(text, NAME_MAX),
  );
  const values = { host, organisation, person, subject: about };
  const subject = i18n.format(texts.subject, values);
  const blocks: Block[] = [
    { is: 'h1', text: subject },
    { is: 'paragraph', text: i18n.format(texts[event], values) },
    { is: 'paragraph', text: texts.todo },
    { is: 'button', text: texts.button, url, fallback: i18n.texts.linkFallback },
  ];
  return rendered(context, subject, blocks);
}

/** A mail with a link that works once. */
function linkMail(
  texts: Words<'mail'>['invitation' | 'passwordReset' | 'consent'],
  { url, expiresAt, values }: { url: string; expiresAt: string; values: Record<string, string> },
  i18n: WordsIn<'mail'>,
  context: RenderContext,
): Rendered {
  const blocks: Block[] = [
    { is: 'h1', text: i18n.format(texts.heading, values) },
    { is: 'paragraph', text: i18n.format(texts.intro, values) },
    { is: 'button', text: texts.button, url, fallback: i18n.texts.linkFallback },
    { is: 'paragraph', text: i18n.format(i18n.texts.validUntil, { date: i18n.date(expiresAt) }) },
    { is: 'paragraph', text: texts.ignore },
  ];
  return rendered(context, i18n.format(texts.subject, values), blocks);
}

/** A mail of blocks. All mails have the same end of the footer. */
export function rendered({ locale, host, legal = {} }: RenderContext, subject: string, blocks: Block[], reasons: Block[] = []): Rendered {
  const { texts, format } = wordsIn(locale, 'mail');
  const links = legalLinks(legal, locale).map((link): Block => ({ is: 'link', ...link }));
  const footer: Block[] = [...reasons, { is: 'small', text: format(texts.automatic, { host }) }, ...links];
  const page = mailPage({ locale, title: subject, body: toHtml(blocks), footer: toHtml(footer) });
  return { subject: oneLine(subject, 200), html: String(page), text: `${toText(blocks)}\n-- \n${toText(footer)}` };
}

/** Characters that change the direction of the text around them, or that nobody sees. */
const DECEPTIVE = /[\u200B-\u200F\u202A-\u202E\u2060-\u2069\uFEFF]/gu;

/** One line without control characters, at most `max` characters. For subjects, too. */
export function oneLine(text: string, max: number): string {
  const line = text
    .replace(/[\p{Cc}\s]+/gu, ' ')
    .replace(DECEPTIVE, '')
    .trim();
  const characters = [...line];
  return characters.length <= max ? line : `${characters.slice(0, max - 1).join('')}…`;
}

/**
 * The HTML of an element of the tested page as text. Mail programs make links of addresses in texts, which must not happen with
 * addresses of a tested page. So an invisible word joiner follows each character that makes an address of a text.
 */
export function elementText(html: string, max = 240): string {
  return oneLine(html, max).replace(/(?<=\S)[.:@](?=\S)/g, (mark) => `${mark}\u2060`);
}
