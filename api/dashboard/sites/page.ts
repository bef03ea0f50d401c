/** The page of a site: how it is, how it changed, and what scans it. Pure. */
import type { ActorNames } from '../names.ts';
import type { Outcome } from '../../../core/scan/outcome.ts';
import {
  DASHBOARD_PATH,
  differencePath,
  HIDDEN_SITES_PATH,
  KNOWN_ISSUES_PATH,
  scanPath,
  SCHEDULES_PATH,
  sitePath,
} from '../../../core/web-paths.ts';
import type { ScanRow } from '../../../stores/scans/scans.ts';
import type { Site, SiteLabel } from '../../../stores/scans/sites.ts';
import type { ListedSchedule } from '../../../stores/schedules/schedules.ts';
import {
  actions,
  breadcrumb,
  button,
  card,
  checkbox,
  errorSummary,
  figure,
  foldedCard,
  type FormError,
  link,
  linkButton,
  notice,
  severityCounts,
  textField,
  dateAndTime,
  time,
} from '../../web/components.ts';
import { errorOf } from '../forms.ts';
import { addressOf, html, type Html, NOTHING } from '../../../report/html/html.ts';
import { ALL_SCANS, listHref } from '../scans/list-query.ts';
import { scheduleTable } from '../schedules/pages.ts';
import { nothingYet, number, originOf, pagesText, partsOf, stateBadge, verdictBadge } from '../scans/words.ts';
import { hasOwnRules } from '../../scans/sites.ts';
import { scanTable } from '../scans/list.ts';
import { trendChart, type TrendPoint } from '../scans/trend.ts';
import { t } from '../../web/texts.ts';

export interface SitePageData {
  host: SiteLabel;
  /** The group of comparable options that the page is about. */
  site: Site;
  /** The newest scan that has ended. */
  newest: ScanRow;
  /** The newest scan that is done. Null: there is none. */
  done: ScanRow | null;
  /** The scores of the scans that are comparable with `done`, oldest first. */
  trend: readonly TrendPoint[];
  schedules: readonly ListedSchedule[];
  /** Whether the person may schedule scans, and name and hide the site. */
  mayWrite: boolean;
  /** The form that watches the site. */
  watch: Html;
  mayDelete: boolean;
  csrf: Html;
  errors: readonly FormError[];
  /** The last scans with these options, newest first. */
  latest: readonly ScanRow[];
  names: ActorNames;
  /** The other groups of comparable options of this host, each with its newest scan. */
  others: readonly { site: Site; newest: ScanRow }[];
}

export function sitePageBody(data: SitePageData): Html {
  const { host, site, newest, done, trend, mayWrite, mayDelete, errors } = data;
  const name = host.name ?? site.site;
  return html`${errorSummary(errors)} ${breadcrumb([{ text: t`Sites`, href: DASHBOARD_PATH }, { text: name }])}
    <div class="page-head">
      <h1><span class="address">${name}</span></h1>
      <p class="badges">${endBadge(newest)}</p>
    </div>
    <p>
      ${host.name !== null && html`<span class="address">${site.site}</span>: `}${optionsText(newest)}.
      ${t`Only scans with these options are compared here.`}
    </p>
    ${host.hidden && notice({ body: t`This site is hidden in the list of sites. ${link(t`Show the hidden sites`, HIDDEN_SITES_PATH)}.` })}
    ${newest.id !== done?.id && withoutResult(newest)} ${done?.outcome && lastResult(data, done, done.outcome)} ${trendChart(trend, { open: true })}
    ${schedulesOf(data)} ${latestScans(data)} ${otherScans(data)} ${mayWrite && labelForm(data)}
    ${mayDelete && actions(link(t`Delete this site`, `${sitePath(site.site)}/delete`))}`;
}

function withoutResult(row: ScanRow): Html {
  const { id, phase, message } = row;
  return notice({
    kind: phase === 'failed' ? 'bad' : 'warn',
    title: phase === 'failed' ? t`The last scan failed` : t`The last scan was canceled`,
    body: html`${message} ${link(t`See the scan`, scanPath(id))}.`,
  });
}

function lastResult({ newest, names }: SitePageData, row: ScanRow, { score, violations, baseline }: Outcome): Html {
  const { id, passed } = row;
  const { total, ...severities } = violations;
  const difference = baseline?.difference;
  const { text, who } = originOf(row, names);
  return html`<section class="card" aria-labelledby="result-title">
    <h2 id="result-title">${t`Last result`}</h2>
    <div class="columns">
      <div>
        ${figure({ value: number(score), of: t`of 100`, label: t`score`, kind: passed === false ? 'bad' : passed ? 'good' : 'note' })}
        ${row.id !== newest.id && html`<p>${endBadge(row)}</p>`}
      </div>
      <div>${figure({ value: number(total), label: total === 1 ? t`violation` : t`violations` })} ${severityCounts(severities)}</div>
      ${
        difference !== undefined &&
        html`<div>
          ${figure({ value: number(difference.new), label: t`new since the baseline`, kind: difference.new > 0 ? 'bad' : 'good' })}
          ${figure({ value: number(difference.fixed), label: t`fixed since the baseline`, kind: difference.fixed > 0 ? 'good' : undefined })}
        </div>`
      }
    </div>
    <p class="soft">${t`Scan of ${dateAndTime(row.createdAt)}. Started by ${html`${text}${who !== null && html` (<span class="address">${who}</span>)`}`}.`}</p>
    ${difference === undefined && html`<p>${t`The scan was not compared with a baseline. ${link(t`Compare it with the scan before it`, differencePath(id))}.`}</p>`}
    <p>${linkButton({ text: t`See causes and pages`, href: scanPath(id), kind: 'primary' })}</p>
  </section>`;
}

function schedulesOf({ schedules, newest, mayWrite, watch }: SitePageData): Html {
  const none = html`<p>${t`No schedule scans this site with these options.`}</p>`;
  const create = addressOf(`${SCHEDULES_PATH}/new`, { url: newest.options.url });
  return html`<section aria-labelledby="schedules-title">
    <h2 id="schedules-title">${t`Schedules`}</h2>
    ${schedules.length === 0 ? none : scheduleTable(schedules)}
    ${mayWrite && html`<p>${link(t`Schedule scans of this site`, create)}</p>`} ${watch}
  </section>`;
}

function latestScans({ site, latest, names }: SitePageData): Html {
  return html`<section aria-labelledby="latest-title">
    <h2 id="latest-title">${t`Latest scans`}</h2>
    ${scanTable(latest, names)}
    <ul>
      <li>${link(t`All scans of ${site.site}`, listHref({ ...ALL_SCANS, site: site.site }))}</li>
      <li>${link(t`Known issues of ${site.site}`, addressOf(KNOWN_ISSUES_PATH, { site: site.site }))}</li>
    </ul>
  </section>`;
}

function otherScans({ others }: SitePageData): Html {
  if (others.length === 0) return NOTHING;
  return card({
    title: t`Scans of this site with other options`,
    body: html`<ul>
      ${others.map((other) => html`<li>${otherGroup(other)}</li>`)}
    </ul>`,
  });
}

/** Other options of a site, with a link to their page, and the newest scan with them. */
export const otherGroup = ({ site: { site, optionsKey }, newest }: SitePageData['others'][number]): Html =>
  html`${link(optionsText(newest), sitePath(site, optionsKey))}: ${endBadge(newest)} ${scanLink(newest)} ${startOf(newest)}`;

/** In characters. */
export const SITE_NAME_MAX = 100;

function labelForm({ host: { site, name, hidden }, csrf, errors }: SitePageData): Html {
  return foldedCard({
    id: 'label',
    title: t`Name and visibility`,
    open: errors.length > 0,
    body: html`<form method="post" action="${sitePath(site)}/label" novalidate>
      ${csrf}
      ${textField({
        name: 'name',
        label: t`Name of the site`,
        value: name ?? '',
        maxlength: SITE_NAME_MAX,
        autocomplete: 'off',
        hint: t`What your organisation calls it, instead of ${site}`,
        error: errorOf(errors, 'name'),
      })}
      ${checkbox({ name: 'hidden', label: t`Leave it out of the list of sites`, checked: hidden, hint: t`Its scans, schedules and reports stay.` })}
      ${button({ text: t`Save` })}
    </form>`,
  });
}

/** Where the scan began, if that is not the first page of the host. */
function startOf({ options }: ScanRow): Html {
  const { path } = partsOf(options.url);
  return path === '/' ? NOTHING : html`<span class="address">(${path})</span>`;
}

/** What comparable scans have in common. */
export function optionsText({ options, signedIn }: Pick<ScanRow, 'options' | 'signedIn'>): string {
  const { maxPages, wcagVersion, wcagLevel } = options;
  const parts = [
    t`Up to ${pagesText(maxPages)}`,
    `WCAG ${wcagVersion} ${wcagLevel}`,
    hasOwnRules(options) ? t`own rules for pages` : null,
    signedIn === true ? t`signed in` : null,
  ];
  return parts.filter((part) => part !== null).join(', ');
}

/** The verdict of a scan that is done, or how it ended without one. */
export const endBadge = (row: Pick<ScanRow, 'phase' | 'passed' | 'outcome'>): Html =>
  row.phase === 'done' ? verdictBadge(row) : stateBadge(row.phase);

/** The violations that are new and fixed since the baseline. */
export function changesCell({ outcome }: Pick<ScanRow, 'outcome'>): Html {
  const difference = outcome?.baseline?.difference;
  return difference === undefined ? nothingYet() : html`${t`${difference.new} new, ${difference.fixed} fixed`}`;
}

/** A link to a scan, by the time of its submission. */
export const scanLink = ({ id, createdAt }: Pick<ScanRow, 'id' | 'createdAt'>): Html => link(time(createdAt), `/dashboard/scans/${id}`);
