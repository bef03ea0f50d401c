/** The weekly summary of the sites of an organisation: when each recipient gets it, and what it says. */
import type { Reader } from '../../core/reader.ts';
import { nextTimes } from '../../core/schedule/recurrence.ts';
import { DASHBOARD_PATH, sitePath } from '../../core/web-paths.ts';
import { uuidOf } from '../../core/uuid.ts';
import { wordsIn, type WordsIn } from '../../report/words/words.ts';
import { NEVER, type DueSummary } from '../../stores/outbox/subscriptions.ts';
import type { Site } from '../../stores/scans/sites.ts';
import type { AllStores } from '../../stores/stores.ts';
import { mainOf } from '../scans/sites.ts';
import type { Block } from './mail-blocks.ts';
import { NAME_MAX, oneLine, rendered, type RenderContext, type Rendered } from './mail-contents.ts';
import { type SubscriberStores, subscriberOf } from './subscriber.ts';

/** Monday, 08:00 in the time zone of the reader. */
const TIMES = '0 8 * * 1';
const WEEK_MS = 7 * 86_400_000;
/** A summary that is later than this, because no replica ran or mail was off, is left out. */
const USEFUL_MS = 86_400_000;
const BATCH = 200;
/** Sites that are read, and those that the mail lists. */
const SITES_MAX = 200;
const LISTED_MAX = 20;

type Stores = SubscriberStores & Pick<AllStores, 'sites' | 'scans' | 'schedules' | 'outbox'>;

/** Queues the summaries that are due. A summary has one ID for its time and recipient, so that replicas may do this at the same time. */
export async function queueSummaries({ stores, now }: { stores: Stores; now: () => Date }, signal: AbortSignal): Promise<void> {
  for (const due of await stores.subscriptions.dueSummaries(now(), BATCH)) {
    signal.throwIfAborted();
    const reader = await subscriberOf(stores, due.id, 'weekly');
    const isFirst = due.weeklyAt.getTime() === NEVER.getTime();
    const isUseful = !isFirst && now().getTime() - due.weeklyAt.getTime() < USEFUL_MS;
    if (reader !== null && isUseful && (await hasNews(stores, due))) await queue(stores, due);
    await stores.subscriptions.planSummary(due, nextTimes(TIMES, reader?.timeZone, now(), 1)[0]!);
  }
}

async function hasNews({ sites }: Stores, { organisation, weeklyAt }: DueSummary): Promise<boolean> {
  const [newest] = (await sites.search(organisation, { limit: 1 })).sites;
  return newest !== undefined && newest.groups.some(({ finishedAt }) => finishedAt.getTime() > weeklyAt.getTime() - WEEK_MS);
}

async function queue({ outbox }: Stores, { id: subscription, organisation, email: to, weeklyAt }: DueSummary): Promise<void> {
  const until = weeklyAt.toISOString();
  const data = { subscription, until, expiresAt: new Date(weeklyAt.getTime() + USEFUL_MS).toISOString() };
  const id = `weekly-summary:${uuidOf(JSON.stringify([organisation, to, until]))}`;
  await outbox.enqueue({ id, kind: 'weekly_summary', to, organisation, data });
}

export interface WeekOfSite {
  site: string;
  /** What people call it. Null: it has no name. */
  name: string | null;
  /** Whether the newest scan has failed. */
  failed: boolean;
  passed: boolean | null;
  /** Of the newest scan that is done. Null: there is none. */
  result: { score: number; violations: number } | null;
  /** The score at the beginning of the week. Null: it is not known. */
  before: number | null;
}

/** Returns the sites that were scanned in the week before a time, those that need attention first. */
export async function weekOf(stores: Stores, organisation: string, until: Date): Promise<WeekOfSite[]> {
  const since = new Date(until.getTime() - WEEK_MS);
  const { sites } = await stores.sites.search(organisation, { limit: SITES_MAX });
  const scanned = sites.filter(({ groups }) => groups.some(({ finishedAt }) => finishedAt > since));
  const runs = await stores.schedules.nextRuns(organisation, scanned.map(({ site }) => site)); // prettier-ignore
  const weeks: WeekOfSite[] = [];
  for (const { site, name, groups } of scanned) {
    const main = mainOf(groups, runs)!;
    const result = main.history.at(-1) ?? null;
    weeks.push({
      site,
      name,
      failed: main.phase === 'failed',
      passed: main.passed,
      result,
      before: await scoreBefore(stores, main, since),
    });
  }
  return weeks.sort((a, b) => Number(needsAttention(b)) - Number(needsAttention(a)) || changeOf(a) - changeOf(b));
}

async function scoreBefore({ scans }: Stores, { history, done, organisation }: Site, since: Date): Promise<number | null> {
  const known = history.findLast(({ at }) => at <= since);
  if (known !== undefined || done === null) return known?.score ?? null;
  const row = await scans.find(done, organisation);
  // The history has the last scans only.
  const earlier = row && (await scans.previousDone({ ...row, createdAt: since }));
  return earlier?.outcome?.score ?? null;
}

const changeOf = ({ result, before }: WeekOfSite): number => (result === null || before === null ? 0 : result.score - before);
const needsAttention = (week: WeekOfSite): boolean => week.failed || week.passed === false || changeOf(week) < 0;

interface Summary {
  weeks: readonly WeekOfSite[];
  organisation: string;
  until: Date;
  links: { base: string; stop: string; choose: string };
}

export function renderSummary({ weeks, links, ...about }: Summary, context: Reader & RenderContext): Rendered {
  const { locale, timeZone, host } = context;
  const i18n = wordsIn(locale, 'mail');
  const { weeklySummary: texts, scanEnded } = i18n.texts;
  const organisation = oneLine(about.organisation, NAME_MAX);
  const urgent = weeks.filter(needsAttention).length;
  const title = `${organisation}: ${i18n.count(texts.attention, urgent)}`;
  const listed = weeks.slice(0, LISTED_MAX).map((week) => ({ text: lineOf(week, i18n), url: links.base + sitePath(week.site) }));
  const [first, others] = [listed.slice(0, urgent), listed.slice(urgent)];
  const part = (heading: string, items: typeof listed): Block[] =>
    items.length === 0
      ? []
      : [
          { is: 'h2', text: heading },
          { is: 'links', items },
        ];
  const more = weeks.length - listed.length;
  const blocks: Block[] = [
    { is: 'h1', text: title },
    { is: 'paragraph', text: i18n.format(texts.period, { until: i18n.date(about.until, timeZone) }) },
    ...part(texts.urgent, first),
    ...part(texts.others, others),
    ...(more > 0 ? [{ is: 'paragraph' as const, text: i18n.count(texts.more, more) }] : []),
    { is: 'button', text: texts.button, url: links.base + DASHBOARD_PATH, fallback: i18n.texts.linkFallback },
  ];
  const footer: Block[] = [
    { is: 'small', text: wordsIn(locale, 'report').texts.disclaimer },
    { is: 'small', text: i18n.format(texts.reason, { host, organisation }) },
    { is: 'link', text: texts.stop, url: links.stop },
    { is: 'link', text: scanEnded.choose, url: links.choose },
  ];
  return rendered(context, title, blocks, footer);
}

/** `Shop (shop.example) · Score 71.5 (−3.2) · 12 violations found · Did not pass`. */
function lineOf(week: WeekOfSite, { locale, number, texts }: WordsIn<'mail'>): string {
  const report = wordsIn(locale, 'report');
  const { result, passed } = week;
  const signed = new Intl.NumberFormat(locale, { signDisplay: 'exceptZero', maximumFractionDigits: 1 });
  const change = changeOf(week) === 0 ? '' : ` (${signed.format(changeOf(week))})`;
  const parts = [
    oneLine(week.name === null ? week.site : `${week.name} (${week.site})`, NAME_MAX),
    ...(week.failed ? [texts.weeklySummary.failed] : []),
    ...(result === null
      ? []
      : [`${report.texts.score} ${number(result.score)}${change}`, report.count(report.texts.found, result.violations)]),
    ...(passed === null || week.failed ? [] : [passed ? report.texts.passed : report.texts.notPassed]),
  ];
  return parts.join(' · ');
}
