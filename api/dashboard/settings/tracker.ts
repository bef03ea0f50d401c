/** The tracker in which an organisation creates issues about root causes. */
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import { JIRA_ID, type Tracker, TRACKER_KINDS, TRACKER_URL_MAX, trackerText, trackerUrl } from '../../../core/organisation.ts';
import { MEMBERS_PATH, TRACKER_PATH } from '../../../core/web-paths.ts';
import { html, type Html } from '../../../report/html/html.ts';
import { recordChange } from '../../accounts/scoped-stores.ts';
import { callerOf } from '../../http/plugins/auth.ts';
import { button, type Choice, type FormError, selectField, textField } from '../../web/components.ts';
import { formOf } from '../../web/html-scope.ts';
import { csrfField, doneOf, errorOf, titledPage } from '../forms.ts';

const CONFIG = { permission: 'members:write' } as const;
const DONE = { saved: 'The tracker is saved.', none: 'The tracker is removed. Links to new issues use the repository of a scan.' };
const FIELDS = ['kind', 'url', 'project', 'issue_type'] as const;
type Typed = Record<(typeof FIELDS)[number], string>;

export const trackerPages: FastifyPluginAsync = async (scope) => {
  scope.get(TRACKER_PATH, { config: CONFIG }, (request, reply) => {
    const { tracker } = callerOf(request).organisation;
    const ids = tracker?.kind === 'jira' ? { project: tracker.project, issue_type: tracker.issueType } : { project: '', issue_type: '' };
    return show(request, reply, { kind: tracker?.kind ?? '', url: tracker?.url ?? '', ...ids });
  });

  scope.post(TRACKER_PATH, { config: CONFIG }, async (request, reply) => {
    const form = formOf(request.body);
    const typed = Object.fromEntries(FIELDS.map((name) => [name, form.text(name).trim()])) as Typed;
    const read = readTracker(typed);
    if (!read.ok) return show(request, reply, typed, read.errors);
    const { organisation } = callerOf(request);
    await scope.stores.organisations.setTracker(organisation.id, read.tracker);
    const subject = read.tracker === null ? 'none' : trackerText(read.tracker);
    await recordChange(request, scope.logger, { action: 'organisation.tracker', subject });
    return reply.redirect(`${TRACKER_PATH}?done=${read.tracker === null ? 'none' : 'saved'}`, 303);
  });
};

/** Reads the form. Without a kind there is no tracker, whatever else was typed. */
export function readTracker(typed: Typed): { ok: true; tracker: Tracker | null } | { ok: false; errors: FormError[] } {
  const { url: address, project, issue_type: issueType } = typed;
  if (typed.kind === '') return { ok: true, tracker: null };
  const kind = TRACKER_KINDS.find((one) => one === typed.kind);
  if (kind === undefined) return { ok: false, errors: [{ field: 'kind', text: 'Choose a tracker.' }] };
  const url = trackerUrl(kind, address);
  const errors: FormError[] = [];
  if (url === null || /[?#]/.test(address) || url.length > TRACKER_URL_MAX)
    errors.push({
      field: 'url',
      text:
        `Enter the address of ${kind === 'jira' ? 'the Jira site, such as https://acme.atlassian.net' : `the project, such as https://${kind}.com/acme/shop`}. ` +
        `It begins with https://, and has no user name, password or query, and at most ${TRACKER_URL_MAX} characters.`,
    });
  if (kind === 'jira' && !JIRA_ID.test(project))
    errors.push({ field: 'project', text: 'Enter the ID of the project: a number, not its key.' });
  if (kind === 'jira' && !JIRA_ID.test(issueType)) errors.push({ field: 'issue_type', text: 'Enter the ID of the issue type: a number.' });
  if (errors.length > 0) return { ok: false, errors };
  return { ok: true, tracker: kind === 'jira' ? { kind, url: url!, project, issueType } : { kind, url: url! } };
}

const KINDS: readonly Choice[] = [
  { value: '', text: 'None: use the repository of a scan' },
  { value: 'github', text: 'GitHub' },
  { value: 'gitlab', text: 'GitLab' },
  { value: 'jira', text: 'Jira' },
];

const show = (request: FastifyRequest, reply: FastifyReply, typed: Typed, errors: FormError[] = []): FastifyReply =>
  reply.page(
    titledPage({ request, title: 'Tracker for issues', active: 'members', trail: [{ text: 'Members', href: MEMBERS_PATH }], narrow: true, errors, done: doneOf(request, DONE), body: form(request, typed, errors) }), // prettier-ignore
    { status: errors.length > 0 ? 422 : 200 },
  );

function form(request: FastifyRequest, typed: Typed, errors: FormError[]): Html {
  const field = (name: keyof Typed) => ({ name, value: typed[name], error: errorOf(errors, name) });
  const ofJira = { required: false, inputmode: 'numeric', autocomplete: 'off', width: 'short' } as const;
  return html`<p class="lead">Where the link "Create issue" at a root cause leads. It fills in the form of the tracker, and needs no access to it.</p>
    <form method="post" action="${TRACKER_PATH}" novalidate>
      ${csrfField(request)} ${selectField({ ...field('kind'), label: 'Tracker', required: true, choices: KINDS })}
      ${textField({ ...field('url'), label: 'Address', hint: 'Of the project on GitHub or GitLab, or of the Jira site.', required: false, type: 'url', autocomplete: 'off' })}
      ${textField({ ...field('project'), ...ofJira, label: 'ID of the Jira project', hint: 'The number after pid= in the address of its settings.' })}
      ${textField({ ...field('issue_type'), ...ofJira, label: 'ID of the Jira issue type', hint: 'The number in the address of its settings.' })}
      ${button({ text: 'Save', kind: 'primary' })}
    </form>`;
}
