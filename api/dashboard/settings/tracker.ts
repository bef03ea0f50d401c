/** The tracker in which an organisation creates issues about root causes. */
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import { JIRA_ID, type Tracker, TRACKER_KINDS, TRACKER_URL_MAX, trackerText, trackerUrl } from '../../../core/organisation.ts';
import { MEMBERS_PATH, TRACKER_PATH } from '../../../core/web-paths.ts';
import { html, type Html } from '../../../report/html/html.ts';
import { recordChange } from '../../accounts/scoped-stores.ts';
import { callerOf } from '../../http/plugins/auth.ts';
import { button, type Choice, type FormError, selectField, textField } from '../../web/components.ts';
import { formOf } from '../../web/html-scope.ts';
import { doneOf, errorOf, postForm, titledPage } from '../forms.ts';
import { m, t, trChoices } from '../../web/texts.ts';

const CONFIG = { permission: 'members:write' } as const;
const DONE = { saved: m`The tracker is saved.`, none: m`The tracker is removed. Links to new issues use the repository of a scan.` };
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
  if (kind === undefined) return { ok: false, errors: [{ field: 'kind', text: t`Choose a tracker.` }] };
  const url = trackerUrl(kind, address);
  const errors: FormError[] = [];
  if (url === null || /[?#]/.test(address) || url.length > TRACKER_URL_MAX)
    errors.push({
      field: 'url',
      text:
        (kind === 'jira'
          ? t`Enter the address of the Jira site, such as https://acme.atlassian.net.`
          : t`Enter the address of the project, such as https://${kind}.com/acme/shop.`) +
        t` It begins with https://, and has no user name, password or query, and at most ${TRACKER_URL_MAX} characters.`,
    });
  if (kind === 'jira' && !JIRA_ID.test(project))
    errors.push({ field: 'project', text: t`Enter the ID of the project: a number, not its key.` });
  if (kind === 'jira' && !JIRA_ID.test(issueType)) errors.push({ field: 'issue_type', text: t`Enter the ID of the issue type: a number.` });
  if (errors.length > 0) return { ok: false, errors };
  return { ok: true, tracker: kind === 'jira' ? { kind, url: url!, project, issueType } : { kind, url: url! } };
}

const KINDS: readonly Choice[] = [
  { value: '', text: m`None: use the repository of a scan` },
  { value: 'github', text: 'GitHub' },
  { value: 'gitlab', text: 'GitLab' },
  { value: 'jira', text: 'Jira' },
];

const show = (request: FastifyRequest, reply: FastifyReply, typed: Typed, errors: FormError[] = []): FastifyReply =>
  reply.page(
    titledPage({ request, title: t`Tracker for issues`, active: 'members', trail: [{ text: t`Members`, href: MEMBERS_PATH }], narrow: true, errors, done: doneOf(request, DONE), body: form(request, typed, errors) }), // prettier-ignore
    { status: errors.length > 0 ? 422 : 200 },
  );

function form(request: FastifyRequest, typed: Typed, errors: FormError[]): Html {
  const field = (name: keyof Typed, label: string, hint?: string) =>
    ({ name, label, hint, value: typed[name], error: errorOf(errors, name), autocomplete: 'off' }) as const;
  const ofJira = { inputmode: 'numeric', width: 'short' } as const;
  const lead = t`Where the link "Create issue" at a root cause leads. It fills in the form of the tracker, and needs no access to it.`;
  return html`<p class="lead">${lead}</p>
    ${postForm(
      request,
      TRACKER_PATH,
      html`${selectField({ ...field('kind', t`Tracker`), required: true, choices: trChoices(KINDS) })}
      ${textField({ ...field('url', t`Address`, t`Of the project on GitHub or GitLab, or of the Jira site.`), type: 'url' })}
      ${textField({ ...field('project', t`ID of the Jira project`, t`The number after pid= in the address of its settings.`), ...ofJira })}
      ${textField({ ...field('issue_type', t`ID of the Jira issue type`, t`The number in the address of its settings.`), ...ofJira })}
      ${button({ text: t`Save`, kind: 'primary' })}`,
    )}`;
}
