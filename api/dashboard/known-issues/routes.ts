/** Known issues: the list, accepting one at a root cause of a scan, the page of one, changing and removing it. */
import { randomUUID } from 'node:crypto';
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import { mayCall } from '../../../core/accounts.ts';
import { ENDING_DAYS, isDecision, type KnownIssueExample, KNOWN_ISSUE_TEXT_MAX, readSite } from '../../../core/scan/known-issues.ts';
import { siteOf } from '../../../core/scan/site.ts';
import { KNOWN_ISSUES_PATH, scanPath } from '../../../core/web-paths.ts';
import { elementPath } from '../../../report/schema/page.ts';
import type { RootCause } from '../../../report/schema/root-cause.ts';
import type { ReportView } from '../../../report/view/schema.ts';
import type { KnownIssueRow, SiteMatches } from '../../../stores/known-issues/known-issues.ts';
import type { ScanRow } from '../../../stores/scans/scans.ts';
import { createKnownIssueManagement, exampleOf } from '../../accounts/known-issue-management.ts';
import { KnownIssueChange } from '../../accounts/known-issues.ts';
import { storesOf } from '../../accounts/scoped-stores.ts';
import { ApiError, type ErrorCode } from '../../http/errors.ts';
import { decodeCursor, pageOf } from '../../http/pagination.ts';
import { callerOf } from '../../http/plugins/auth.ts';
import { elementPicture, link } from '../../web/components.ts';
import { pictureName } from '../../scans/scan-views.ts';
import { formOf } from '../../web/html-scope.ts';
import { addressOf, html, type Html } from '../../../report/html/html.ts';
import { titleOf } from '../../../report/html/cause.ts';
import { picturePath } from '../findings/list.ts';
import { detailsOf, findCause } from '../findings/select.ts';
import { doneOf, formIdOf, idOfForm } from '../forms.ts';
import { actorNames } from '../names.ts';
import { answerForm, checkerOf } from '../schema-form.ts';
import { ABOUT, type AcceptedCause, acceptPage, dateOf, ISSUE_FORM } from './form.ts';
import { issuePath, type IssueQuery, knownIssueListPage, type KnownIssuePage, knownIssuePage, removeIssuePage, STATES } from './pages.ts';
import { m, t } from '../../web/texts.ts';

const READ = { config: { permission: 'scans:read' } } as const;
const WRITE = { config: { permission: 'known-issues:write' } } as const;
const NEW = `${KNOWN_ISSUES_PATH}/new`;
const ONE = `${KNOWN_ISSUES_PATH}/:known_issue_id`;
const PER_PAGE = 25;
const DAY_MS = 86_400_000;
/** The end that the form suggests, in days from now. */
const SUGGESTED_DAYS = 90;
const DONE = {
  added: m`The violations are accepted. Scans of the site that start from now on show them as known.`,
  decided: m`The decision is saved. It counts in scans of the site that start from now on.`,
  changed: m`The changes are saved.`,
  removed: m`The known issue was removed.`,
  undecided: m`The decision was removed.`,
};

const checkChange = checkerOf(KnownIssueChange);
const REFUSED = {
  fields: ISSUE_FORM.fields,
  refusals: ['too_many_known_issues', 'known_issue_exists', 'known_issue_managed_by_manifest'] satisfies ErrorCode[],
};

interface FoundCause {
  cause: AcceptedCause;
  row: ScanRow;
  view: ReportView;
}

type One = { Params: { known_issue_id: string } };

export const knownIssuePages: FastifyPluginAsync = async (scope) => {
  const { now, scanViews: pictures } = scope;
  const management = createKnownIssueManagement(scope);
  const mayChange = (request: FastifyRequest): boolean => mayCall(callerOf(request), 'known-issues:write');
  const done = (reply: FastifyReply, what: keyof typeof DONE, path = KNOWN_ISSUES_PATH) => reply.redirect(`${path}?done=${what}`, 303);

  scope.get(KNOWN_ISSUES_PATH, READ, async (request, reply) => {
    const params = request.query as Readonly<Record<string, unknown>>;
    const cursor = typeof params['cursor'] === 'string' ? params['cursor'] : undefined;
    const query = queryOf(params);
    const page = { site: query.site === '' ? undefined : query.site, ...filterOf(query, now()), after: decodeCursor(cursor) };
    const { knownIssues } = storesOf(request);
    const found = await knownIssues.list({ ...page, limit: PER_PAGE + 1 });
    const { items: issues, nextCursor } = pageOf(found, PER_PAGE, ({ createdAt: at, id }) => ({ at, id }));
    const first = cursor === undefined;
    const sites = new Set(issues.map((issue) => issue.site));
    const [names, matches] = await Promise.all([
      actorNames(storesOf(request), issues, ({ createdBy }) => createdBy),
      sites.size === 0 ? new Map<string, SiteMatches>() : knownIssues.matchesOfSites([...sites]),
    ]);
    const state = { first, nextCursor, done: doneOf(request, DONE), now: now() };
    return reply.page(knownIssueListPage({ request, query, issues, names, matches, ...state }));
  });

  /** The root cause of a scan that its page shows. @throws ApiError if there is none */
  async function causeOf(request: FastifyRequest, scanId: string, asked: string, fingerprint: string): Promise<FoundCause> {
    const list = asked === 'review' ? 'review' : 'violations';
    const row = await storesOf(request).scans.find(scanId.toLowerCase());
    if (row === null) throw new ApiError('scan_not_found');
    const view = row.reports === null ? null : await pictures.readView(row);
    const line = view === null ? undefined : findCause(view, list, fingerprint);
    if (view === null || line === undefined) throw new ApiError('report_not_found');
    return { cause: { scanId: row.id, site: siteOf(row.options.url), title: titleOf(view, line.rule), list, line }, row, view };
  }

  scope.get<{ Querystring: { scan?: unknown; list?: unknown; cause?: unknown } }>(NEW, WRITE, async (request, reply) => {
    const { scan, list, cause: fingerprint } = request.query;
    const { cause, row, view } = await causeOf(request, String(scan), String(list), String(fingerprint));
    // An outage is no missing report: errors pass through.
    const details = await detailsOf(view, cause.list, cause.line, (place) => pictures.readFindings(row, place));
    if (details === null) throw new ApiError('report_not_found');
    const expires = dateOf(new Date(now().getTime() + SUGGESTED_DAYS * DAY_MS));
    const fields = ISSUE_FORM.initial({ selector: selectorOf(details), expires_at: expires });
    return reply.page(acceptPage({ request, cause, typed: { about: 'cause', fields, formId: randomUUID() }, errors: [] }));
  });

  scope.post(NEW, WRITE, (request, reply) => {
    const form = formOf(request.body);
    const about = ABOUT.find((one) => one === form.text('about')) ?? 'cause';
    const typed = { about, fields: ISSUE_FORM.read(form), formId: formIdOf(form) };
    const [scanId, list, fingerprint] = [form.text('scan'), form.text('list'), form.text('cause')];
    return answerForm(reply, {
      ...REFUSED,
      page: async (errors) => acceptPage({ request, cause: (await causeOf(request, scanId, list, fingerprint)).cause, typed, errors }),
      async act() {
        const { selector: _, kind: __, ...fields } = ISSUE_FORM.body(typed.fields);
        const target = about === 'cause' ? { fingerprint } : { rule: form.text('rule'), selector: form.text('selector') };
        const wanted = ISSUE_FORM.check({
          scan_id: scanId,
          ...(list === 'review' && { kind: form.text('kind') }),
          site: form.text('site'),
          ...target,
          ...fields,
        });
        const issue = await management.add(request, wanted, idOfForm(request, typed.formId));
        return reply.redirect(addressOf(issuePath(issue.id), { done: list === 'review' ? 'decided' : 'added', scan: scanId }), 303);
      },
    });
  });

  scope.get<One>(ONE, READ, async (request, reply) => {
    const issue = await management.find(request, request.params.known_issue_id);
    return reply.page(
      knownIssuePage({
        request,
        issue,
        ...(await aboutOf(request, issue)),
        mayChange: mayChange(request),
        done: await doneAt(request),
        now: now(),
      }),
    );
  });

  scope.post<One>(ONE, WRITE, async (request, reply) => {
    const issue = await management.find(request, request.params.known_issue_id);
    const typed = ISSUE_FORM.read(formOf(request.body));
    return answerForm(reply, {
      ...REFUSED,
      page: async (errors) =>
        knownIssuePage({ request, issue, ...(await aboutOf(request, issue)), typed, errors, mayChange: true, done: null, now: now() }),
      async act() {
        const { reason, owner, expires_at: ends } = ISSUE_FORM.body(typed);
        // The same day is no change: the end may be later on this day.
        const isSameDay = typed['expires_at']![0] === dateOf(issue.expiresAt);
        await management.change(request, issue.id, checkChange({ reason, owner, ...(!isSameDay && { expires_at: ends }) }));
        return done(reply, 'changed', issuePath(issue.id));
      },
    });
  });

  scope.get<One>(`${ONE}/remove`, WRITE, async (request, reply) => {
    const issue = await management.find(request, request.params.known_issue_id);
    // Its page says where it is removed.
    if (issue.manifest !== null) return reply.redirect(issuePath(issue.id), 303);
    return reply.page(removeIssuePage({ request, issue, ...(await aboutOf(request, issue)), now: now() }));
  });

  scope.post<One>(`${ONE}/remove`, WRITE, async (request, reply) => {
    const removed = await management.remove(request, request.params.known_issue_id);
    return done(reply, isDecision(removed) ? 'undecided' : 'removed');
  });
};

/** What was done, with the way back to the scan whose root cause was accepted: its other causes wait there. */
async function doneAt(request: FastifyRequest): Promise<Html | string | null> {
  const text = doneOf(request, DONE);
  const { scan } = request.query as { scan?: unknown };
  const row = text === null || typeof scan !== 'string' ? null : await storesOf(request).scans.find(scan.toLowerCase());
  return row === null ? text : html`${text} ${link(t`Back to the scan`, scanPath(row.id))}`;
}

/** What the pages of a known issue show in addition to it. */
async function aboutOf(request: FastifyRequest, issue: KnownIssueRow) {
  const stores = storesOf(request);
  const [names, matches] = await Promise.all([
    actorNames(stores, [issue], ({ createdBy }) => createdBy),
    stores.knownIssues.matchesOf(issue.site),
  ]);
  const example = exampleOf(issue, matches);
  return { names, matches, example, seen: example === undefined ? null : await seenIn(request, example) };
}

/** What the scan of an example still has. A page without the picture is of use. */
async function seenIn(request: FastifyRequest, { scanId, fingerprint }: KnownIssueExample): Promise<KnownIssuePage['seen']> {
  const row = await storesOf(request).scans.find(scanId);
  if (row === null || row.reports === null) return null;
  const view = await request.server.scanViews.readView(row).catch(() => null);
  const picture = view?.pictures.find((one) => one.fingerprint === fingerprint);
  const [src, alt] = [picturePath(scanId, pictureName(fingerprint)), t`The element, as the scanner saw it`];
  return { picture: picture !== undefined && elementPicture({ src, alt, picture }) };
}

/** Values that no form sends are ignored, so that an edited address still shows the list. The site may be an address, as over REST. */
function queryOf({ site, state }: Readonly<Record<string, unknown>>): IssueQuery {
  const text = typeof site === 'string' ? site.trim().toLowerCase() : '';
  return { site: readSite(text) ?? text, state: STATES.find((one) => one === state) ?? null };
}

function filterOf({ state }: IssueQuery, now: Date): { endsBefore?: Date; endsAfter?: Date; unmatched?: boolean } {
  return {
    ...(state !== null && state !== 'ended' && { endsAfter: now }),
    ...(state === 'ended' && { endsBefore: now }),
    ...(state === 'stale' && { unmatched: true }),
    ...(state === 'ending' && { endsBefore: new Date(now.getTime() + ENDING_DAYS * DAY_MS) }),
  };
}

/** The selector of the example. Empty if the view has cut it, because it would match nothing. */
function selectorOf({ example }: RootCause): string {
  const selector = elementPath(example);
  return selector.endsWith('…') || selector.length > KNOWN_ISSUE_TEXT_MAX.selector ? '' : selector;
}
