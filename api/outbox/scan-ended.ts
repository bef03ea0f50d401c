/** The mail about a scan of an organisation: the result first, then what to fix. Pure. */
import { failureKindOf, withoutCharge } from '../../core/scan/phases.ts';
import { IMPACTS } from '../../core/scan/impacts.ts';
import type { Reader } from '../../core/reader.ts';
import type { ThresholdCheck } from '../../core/scan/thresholds.ts';
import { THRESHOLDS } from '../../core/scan/thresholds.ts';
import { causePath, differencePath, scanPath } from '../../core/web-paths.ts';
import { titleOf } from '../../report/html/cause.ts';
import type { ReportView } from '../../report/view/schema.ts';
import { explainScore, toPassSentence } from '../../report/view/verdict.ts';
import { wordsIn, type WordsIn } from '../../report/words/words.ts';
import type { MailData } from '../../stores/outbox/mails.ts';
import { siteOfTopic } from '../../stores/outbox/subscriptions.ts';
import type { ScanRow } from '../../stores/scans/scans.ts';
import type { Block } from './mail-blocks.ts';
import { elementText, NAME_MAX, oneLine, rendered, type RenderContext, type Rendered, type ResultMail, URL_MAX } from './mail-contents.ts';

export interface ScanEnded extends Pick<MailData['scan_ended'], 'topic' | 'comparison'> {
  row: Pick<ScanRow, 'id' | 'site' | 'options' | 'passed' | 'finishedAt' | 'updatedAt'>;
  ended: ResultMail['ended'];
  /** The name of the organisation. */
  organisation: string;
  links: { base: string; stop: string; choose: string };
}

const CAUSES_MAX = 5;

export function renderScanEnded(about: ScanEnded, context: Reader & RenderContext): Rendered {
  const { locale, timeZone, host } = context;
  const { row, ended, topic, links } = about;
  const i18n = wordsIn(locale, 'mail');
  const { scanEnded: texts, result } = i18n.texts;
  const names = { site: oneLine(row.site, NAME_MAX), organisation: oneLine(about.organisation, NAME_MAX), host };
  const title = titleFor(about, names.site, i18n);
  // Without its query, which may have a secret.
  const page = oneLine(row.options.url.replace(/[?#].*/s, ''), URL_MAX);
  const blocks: Block[] = [
    { is: 'h1', text: title },
    ...(ended.phase === 'done' ? doneBlocks(about, ended, i18n) : []),
    ...(ended.phase === 'failed' ? failedBlocks(ended, i18n) : []),
    { is: 'labelled', label: wordsIn(locale, 'report').texts.page, text: page },
    { is: 'labelled', label: result.testedAt, text: i18n.date(row.finishedAt ?? row.updatedAt, timeZone) },
    { is: 'button', text: texts.button, url: links.base + scanPath(row.id), fallback: i18n.texts.linkFallback },
  ];
  const isOwn = siteOfTopic(topic) === null;
  const footer: Block[] = [
    ...(ended.phase === 'done' ? [{ is: 'small' as const, text: wordsIn(locale, 'report').texts.disclaimer }] : []),
    { is: 'small', text: i18n.format(isOwn ? texts.reasonOwn : texts.reasonSite, names) },
    { is: 'link', text: isOwn ? texts.stopOwn : i18n.format(texts.stopSite, names), url: links.stop },
    { is: 'link', text: texts.choose, url: links.choose },
  ];
  return rendered(context, title, blocks, footer);
}

function titleFor({ row: { passed }, ended, topic }: ScanEnded, site: string, i18n: WordsIn<'mail'>): string {
  const { scanEnded: texts } = i18n.texts;
  if (ended.phase !== 'done') return i18n.format(texts.failed, { site });
  if (siteOfTopic(topic) !== null) return i18n.format(texts.worse, { site });
  if (passed === null) return i18n.count(texts.found, ended.outcome.violations.total, { site });
  return i18n.format(passed ? texts.passed : texts.notPassed, { site });
}

function failedBlocks({ reason, message }: Extract<ResultMail['ended'], { phase: 'failed' }>, { locale }: WordsIn<'mail'>): Block[] {
  const { reasons, details } = wordsIn(locale, 'publicPages').texts.failed;
  const why: Block = { is: 'paragraph', text: reasons[failureKindOf(reason)] };
  if (message === null) return [why];
  return [why, { is: 'foreign', label: details, text: elementText(withoutCharge(message).replace(/\?\S+/g, ''), 500), lang: 'en' }];
}

function doneBlocks(about: ScanEnded, { outcome, view }: Extract<ResultMail['ended'], { phase: 'done' }>, i18n: WordsIn<'mail'>): Block[] {
  const { row, comparison, links } = about;
  const { scanEnded: texts } = i18n.texts;
  const report = wordsIn(i18n.locale, 'report').texts;
  const { score, violations } = outcome;
  const explained = explainScore({ outcome, thresholds: row.options.thresholds }, i18n.locale);
  const blocks: Block[] = [];
  if (comparison === null) blocks.push({ is: 'paragraph', text: texts.notCompared });
  if (comparison) {
    const { new: added, fixed, unchanged } = comparison;
    blocks.push({ is: 'paragraph', text: i18n.format(texts.compared, { added, fixed, unchanged }) });
  }
  if (explained.verdict !== null) blocks.push({ is: 'paragraph', text: explained.verdict });
  blocks.push({ is: 'figure', label: report.score, text: `${i18n.number(score)} ${report.outOf}` });
  const rows = IMPACTS.map((impact) => [report.severities[impact], i18n.number(violations[impact])] as const);
  blocks.push({
    is: 'table',
    columns: [report.severity, report.violations],
    rows: [...rows, [report.total, i18n.number(violations.total)]],
  });
  const fix = view === null ? null : toFix(view, i18n);
  if (fix !== null) {
    const items = fix.causes.map(({ text, fingerprint }) => ({ text, url: links.base + causePath(row.id, fingerprint) }));
    blocks.push({ is: 'h2', text: fix.heading }, ...(fix.intro === null ? [] : [{ is: 'paragraph' as const, text: fix.intro }]));
    if (items.length > 0) blocks.push({ is: 'links', items });
  }
  if (comparison) blocks.push({ is: 'link', text: texts.difference, url: links.base + differencePath(row.id) });
  return blocks;
}

type Chosen = Pick<ReportView['causes'][number], 'fingerprint' | 'rule' | 'elements'>;

/** The root causes that keep the scan from passing; else those with new elements, else the worst. Null if there are none. */
function toFix(view: ReportView, i18n: WordsIn<'mail'>) {
  const report = wordsIn(i18n.locale, 'report').texts;
  const named = (chosen: readonly Chosen[]) => chosen.map((cause) => ({ ...cause, text: lineOf(view, cause, i18n) }));
  const { to_pass: toPass, causes } = view;
  const isKnown = ({ name }: ThresholdCheck): boolean => Object.hasOwn(THRESHOLDS, name);
  if (toPass?.left.every(isKnown))
    return { heading: report.fixToPass, intro: toPassSentence(toPass, i18n.locale), causes: named(toPass.causes) };
  if (causes.length === 0) return null;
  const added = causes.filter(({ new_elements: news = 0 }) => news > 0);
  return { heading: report.fixFirst, intro: null, causes: named((added.length > 0 ? added : causes).slice(0, CAUSES_MAX)) };
}

function lineOf(view: ReportView, { fingerprint, rule, elements }: Chosen, { locale, format, texts: mail }: WordsIn<'mail'>): string {
  const { texts, count } = wordsIn(locale, 'report');
  const quoted = (name: string): string => name.replace(/“(.*)”/s, (_, text: string) => format(mail.scanEnded.quoted, { text }));
  const line = view.causes.find((one) => one.fingerprint === fingerprint);
  const element = line === undefined ? '' : ` · ${elementText(quoted(line.element), NAME_MAX)}`;
  return `${elementText(titleOf(view, rule, locale), URL_MAX).replace(/\.$/, '')}${element} · ${count(texts.elements, elements)}`;
}
