/** The page of a known issue, with the form that changes it; and the page that asks before it is removed. */
import type { FastifyRequest } from 'fastify';
import { KNOWN_ISSUES_PATH, scanPath } from '../../../core/web-paths.ts';
import type { KnownIssueRow, SiteMatches } from '../../../stores/known-issues/known-issues.ts';
import { actions, button, definitions, link, linkButton, time, type FormError } from '../../web/components/index.ts';
import { html, type Html, type HtmlValue } from '../../web/html.ts';
import { csrfField } from '../forms.ts';
import type { ActorNames } from '../actor-names.ts';
import { titledPage } from '../titled-page.ts';
import { shown } from '../views/scan-words.ts';
import { commonFields, dateOf, type TypedFields } from './form-fields.ts';
import { acceptedBy, isStale, staleBadge, statusBadge, targetOf } from './issue-words.ts';

export const issuePath = (id: string): string => `${KNOWN_ISSUES_PATH}/${id}`;

export interface KnownIssuePage {
  request: FastifyRequest;
  issue: KnownIssueRow;
  names: ActorNames;
  /** What the newest scan of its site says. */
  matches: SiteMatches | null;
  /** What was typed. Default: as it is. */
  typed?: TypedFields;
  errors?: readonly FormError[];
  mayChange: boolean;
  done: HtmlValue | null;
  now: Date;
}

const FRAME = { active: 'known-issues', trail: [{ text: 'Known issues', href: KNOWN_ISSUES_PATH }], narrow: true } as const;

export function knownIssuePage(page: KnownIssuePage): Html {
  const { request, issue, names, typed, errors = [], mayChange, done } = page;
  const { id, reason, owner, expiresAt } = issue;
  const current = { reason, owner, expires: dateOf(expiresAt) };
  const isOpen = mayChange && issue.manifest === null;
  const body = html`${definitions([...facts(page), ...(isOpen ? [] : texts(issue))])}
    ${
      issue.manifest !== null &&
      html`<p>A manifest in the cluster declares it, so it is changed and removed there: <code>${acceptedBy(issue, names)}</code>.</p>`
    }
    ${
      isOpen &&
      html`<h2>Change it</h2>
        <p>Scans that have started keep what they started with.</p>
        <form method="post" action="${issuePath(id)}" novalidate>
          ${csrfField(request)} ${commonFields(typed ?? current, errors)} ${button({ text: 'Save changes', kind: 'primary' })}
        </form>
        <h2>Remove it</h2>
        <p>The violations count again in scans that start afterwards.</p>
        <p>${linkButton({ text: 'Remove the known issue', href: `${issuePath(id)}/remove` })}</p>`
    }`;
  return titledPage({ ...FRAME, request, title: 'Known issue', errors, done, body });
}

type Row = readonly [HtmlValue, HtmlValue];

type ShownIssue = Pick<KnownIssuePage, 'request' | 'issue' | 'names' | 'matches' | 'now'>;

const facts = ({ issue, names, matches, now }: ShownIssue): Row[] => [
  ['Accepted', targetOf(issue)],
  ['Site', shown(issue.site)],
  ['End', html`${time(issue.expiresAt)} ${statusBadge(issue, now)}`],
  ...(matches !== null && isStale(issue, matches, now) ? [staleRow(matches)] : []),
  ['Accepted by', html`${acceptedBy(issue, names)}, ${time(issue.createdAt)}`],
];

const staleRow = ({ scanId, at }: SiteMatches): Row => [
  'Newest scan',
  html`${staleBadge()} ${link(html`The scan of ${time(at)}`, scanPath(scanId))} found nothing that it covers.`,
];

const texts = ({ reason, owner }: KnownIssueRow): Row[] => [
  ['Reason', reason],
  ['Owner', owner],
];

export function removeIssuePage(page: ShownIssue): Html {
  const { request, issue } = page;
  const body = html`${definitions([...facts(page), ...texts(issue)])}
    <p>What it covers counts as violations again in scans that start afterwards. Scans that have started keep what they started with.</p>
    <form method="post" action="${issuePath(issue.id)}/remove">
      ${csrfField(request)}
      ${actions(button({ text: 'Remove the known issue', kind: 'danger' }), linkButton({ text: 'Keep it', href: issuePath(issue.id), kind: 'quiet' }))}
    </form>`;
  return titledPage({ ...FRAME, request, title: 'Remove this known issue?', body });
}
