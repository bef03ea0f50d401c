/** The audit log of an organisation. */
import type { FastifyPluginAsync, FastifyRequest } from 'fastify';
import { AUDIT_ACTIONS, isSecurityAction } from '../../../core/audit-actions.ts';
import { AUDIT_KINDS, type AuditEntry, type AuditKind, type AuditPage, SECURITY_KEPT_DAYS } from '../../../stores/accounts/audit.ts';
import { csvLine } from '../../../report/formats/csv.ts';
import { scanPath } from '../../../core/web-paths.ts';
import { decodeCursor, pageOf } from '../../http/pagination.ts';
import { storesOf } from '../../accounts/scoped-stores.ts';
import {
  button,
  emptyState,
  filters,
  link,
  linkButton,
  pagination,
  selectField,
  table,
  tabs,
  dateAndTime,
  textField,
  time,
} from '../../web/components.ts';
import { addressOf, html, type Html } from '../../../report/html/html.ts';
import { scanOfEntry } from '../../scans/cancellation.ts';
import { actorNames, type ActorNames } from '../names.ts';
import { titledPage } from '../forms.ts';
import { shown } from '../scans/words.ts';
import { m, t, tr } from '../../web/texts.ts';

const PATH = '/dashboard/settings/audit-log';
const PER_PAGE = 50;
/** Bounds the work of one download. The filter by date gives the rest. */
const CSV_ROWS_MAX = 5000;
const DAY_MS = 86_400_000;
const KIND_NAMES: Readonly<Record<AuditKind, string>> = { changes: m`Changes`, security: m`Sign-ins and security` };

interface Filters {
  kind?: AuditKind;
  action?: string;
  /** An actor as entries have it, in lower case. */
  person?: string;
  /** The first and the last day, in UTC: `2027-01-31`. */
  from?: string;
  to?: string;
}

export const auditPages: FastifyPluginAsync = async (scope) => {
  scope.get(PATH, { config: { permission: 'audit:read' } }, async (request, reply) => {
    const query = request.query as Query;
    const filters = filtersOf(query);
    const after = decodeCursor(typeof query.cursor === 'string' ? query.cursor : undefined);
    const found = await storesOf(request).audit.page({ ...pageFilter(filters), after, limit: PER_PAGE + 1 });
    const { items, nextCursor } = pageOf(found, PER_PAGE, ({ at, id }) => ({ at, id }));
    const names = await namesIn(request, items);
    const body = html`<p class="lead">
        ${t`Every change to this organisation, its members and its API keys, each scan that was started or canceled, and what concerns the security of its accounts and keys; the newest
        first. Changes are kept. Sign-ins and other entries with a network are removed after ${SECURITY_KEPT_DAYS} days.`}
      </p>
      ${tabs(t`Kind of entries`, [
        { text: t`All`, href: PATH, current: filters.kind === undefined },
        ...AUDIT_KINDS.map((kind) => ({ text: tr(KIND_NAMES[kind]), href: addressOf(PATH, { kind }), current: filters.kind === kind })),
      ])}
      ${entryFilter(filters)} ${items.length === 0 ? noEntries(filters) : entryTable(items, names)}
      ${items.length > 0 && html`<p>${link(t`Download CSV`, addressOf(CSV_PATH, { ...filters }))}</p>`}
      ${after !== null && html`<p>${link(t`Newest entries`, addressOf(PATH, { ...filters }))}</p>`}
      ${pagination({ previous: null, next: nextCursor && addressOf(PATH, { ...filters, cursor: nextCursor }) })}`;
    return reply.page(titledPage({ request, title: t`Audit log`, active: 'audit-log', body }));
  });

  scope.get(CSV_PATH, { config: { permission: 'audit:read' } }, async (request, reply) => {
    const filters = filtersOf(request.query as Query);
    const found = await storesOf(request).audit.page({ ...pageFilter(filters), limit: CSV_ROWS_MAX + 1 });
    const entries = found.slice(0, CSV_ROWS_MAX);
    const names = await namesIn(request, entries);
    reply
      .type('text/csv; charset=utf-8')
      .header('Content-Disposition', 'attachment; filename="audit-log.csv"')
      .header('Cache-Control', 'no-store')
      .header('X-Content-Type-Options', 'nosniff');
    const lines = entries.map((entry) => {
      const { at, actor, action, networks, count, until } = entry;
      return csvLine([at.toISOString(), names(actor), action, subjectOf(entry, names), networks.join(' '), count, until.toISOString()]);
    });
    const cut = found.length > CSV_ROWS_MAX ? csvLine([`The list is cut after ${CSV_ROWS_MAX} entries. Filter by date.`]) : '';
    return reply.send(`\uFEFF${csvLine(CSV_COLUMNS)}${lines.join('')}${cut}`);
  });
};

const CSV_PATH = `${PATH}/audit-log.csv`;
const CSV_COLUMNS = ['time', 'who', 'action', 'details', 'networks', 'count', 'last_time'];

type Query = Partial<Record<keyof Filters | 'cursor', unknown>>;

/** Names also the API keys that entries are about. */
const namesIn = (request: FastifyRequest, entries: readonly AuditEntry[]): Promise<ActorNames> =>
  actorNames(
    storesOf(request),
    entries.flatMap((entry) => [entry.actor, keyActorOf(entry) ?? '']),
    (actor) => actor,
  );

/** The key that an entry is about, as an actor. */
const keyActorOf = ({ action, subject }: AuditEntry): string | null =>
  subject !== null && ['key.issue', 'key.revoke', 'key.new-network'].includes(action) ? `key:${subject}` : null;

function subjectOf(entry: AuditEntry, names: ActorNames): string {
  const key = keyActorOf(entry);
  return key === null ? (entry.subject ?? '') : names(key);
}

const pageFilter = ({ kind, action, person, from, to }: Filters): Omit<AuditPage, 'limit'> => ({
  kind,
  action,
  actor: person,
  from: from === undefined ? undefined : new Date(from),
  before: to === undefined ? undefined : new Date(Date.parse(to) + DAY_MS),
});

/** Values that no form sends are ignored, so that an edited address still shows the log. */
function filtersOf({ kind, action, person, ...days }: Query): Filters {
  const day = (value: unknown): string | undefined =>
    typeof value === 'string' && /^\d{4}-\d\d-\d\d$/.test(value) && !Number.isNaN(Date.parse(value)) ? value : undefined;
  const [from, to] = [day(days.from), day(days.to)];
  const known = AUDIT_KINDS.find((one) => one === kind);
  return {
    ...(known !== undefined && { kind: known }),
    ...(typeof action === 'string' && Object.hasOwn(AUDIT_ACTIONS, action) && { action }),
    ...(typeof person === 'string' && person.trim() !== '' && { person: person.trim().toLowerCase() }),
    ...(from !== undefined && { from }),
    ...(to !== undefined && { to }),
  };
}

function entryFilter({ kind, action, person, from, to }: Filters): Html {
  const actions = Object.entries(AUDIT_ACTIONS).filter(([name]) => kind === undefined || isSecurityAction(name) === (kind === 'security'));
  const form = html`<form method="get" action="${PATH}" class="inline-form">
    ${kind !== undefined && html`<input type="hidden" name="kind" value="${kind}" />`}
    ${selectField({
      name: 'action',
      label: t`Action`,
      required: true,
      value: action ?? '',
      choices: [{ value: '', text: t`All actions` }, ...actions.map(([value, text]) => ({ value, text: tr(text) }))],
    })}
    ${textField({ name: 'person', label: t`E-mail address of the person`, value: person, type: 'search', width: 'medium', required: false })}
    ${textField({ name: 'from', label: t`From (UTC)`, value: from, type: 'date', width: 'short' })}
    ${textField({ name: 'to', label: t`To (UTC)`, value: to, type: 'date', width: 'short' })}
    ${button({ text: t`Filter` })}
  </form>`;
  return filters({ form, active: [action, person, from, to].filter((one) => one !== undefined).length });
}

function noEntries({ kind, ...others }: Filters): Html {
  const filtered = Object.keys(others).length > 0;
  if (kind === undefined && !filtered) return emptyState({ title: t`No entries`, text: t`The audit log has no entries yet.` });
  const text = filtered ? t`No entry matches the filters.` : t`There are no entries of this kind.`;
  return emptyState({ title: t`No entries`, text, action: linkButton({ text: t`Show all entries`, href: PATH }) });
}

const entryTable = (entries: readonly AuditEntry[], names: ActorNames): Html =>
  table({
    id: 'audit-log',
    caption: t`Audit log`,
    captionHidden: true,
    columns: [{ text: t`When` }, { text: t`Who`, wide: true }, { text: t`What` }, { text: t`Details`, wide: true }, { text: t`Network` }],
    rows: entries.map((entry) => [
      time(entry.at),
      names(entry.actor),
      actionText(entry.action),
      detailsOf(entry, names),
      entry.networks.length > 0 && html`<span translate="no">${entry.networks.join(', ')}</span>`,
    ]),
  });

/** An action that a newer version recorded is shown by its name. */
const actionText = (action: string): string => (Object.hasOwn(AUDIT_ACTIONS, action) ? tr(AUDIT_ACTIONS[action]!) : action);

/** An entry of several events says how many they were, and when the last one was. */
function detailsOf(entry: AuditEntry, names: ActorNames): Html {
  const { count, until } = entry;
  const subject = subjectOf(entry, names);
  const scan = scanOfEntry(entry);
  if (scan !== null) return link(html`<span class="address">${shown(scan.site, 120)}</span>`, scanPath(scan.id));
  if (count === 1) return html`${subject}`;
  return html`${subject !== '' && html`${subject}: `}${t`${count} times, the last one ${dateAndTime(until)}`}`;
}
