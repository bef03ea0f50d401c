/** Deletes a site: its ended scans with their reports, whatever their options. For owners, who enter its host. */
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import { DASHBOARD_PATH, sitePath } from '../../../core/web-paths.ts';
import { storesOf } from '../../accounts/scoped-stores.ts';
import { ApiError } from '../../http/errors.ts';
import { deleteSite, type SiteDeletion } from '../../scans/deletion.ts';
import { actions, button, type FormError, linkButton, notice, textField } from '../../web/components.ts';
import { formOf } from '../../web/html-scope.ts';
import { html } from '../../../report/html/html.ts';
import { csrfField, errorOf, titledPage } from '../forms.ts';
import { m, t, tr } from '../../web/texts.ts';

const PATH = '/dashboard/sites/:site/delete';
const CONFIG = { permission: 'members:write' } as const;

const REFUSALS: Readonly<Record<Exclude<SiteDeletion, 'done'>, string>> = {
  live: m`Scans of this site are in progress. Cancel them, or wait until they have ended.`,
  more: m`The site has so many scans that not all of them are deleted yet. Send the form again.`,
};

type Named = { Params: { site: string } };

export const siteDeletionPages: FastifyPluginAsync = async (scope) => {
  scope.get<Named>(PATH, { config: CONFIG }, async (request, reply) => sendForm(request, reply, await knownSite(request, request.params)));

  scope.post<Named>(PATH, { config: CONFIG }, async (request, reply) => {
    const site = await knownSite(request, request.params);
    if (formOf(request.body).text('site').toLowerCase() !== site)
      return sendForm(request, reply, site, [{ field: 'site', text: t`Enter ${site} to confirm.` }], 422);
    const deleted = await deleteSite(request, site);
    if (deleted !== 'done') return sendForm(request, reply, site, [{ field: null, text: tr(REFUSALS[deleted]) }], 409);
    return reply.redirect(`${DASHBOARD_PATH}?done=site-deleted`, 303);
  });
};

/** @throws ApiError if the organisation has no such site */
async function knownSite(request: FastifyRequest, params: { site: string }): Promise<string> {
  const site = params.site.toLowerCase();
  if ((await storesOf(request).sites.of(site)).groups.length === 0) throw new ApiError('not_found');
  return site;
}

function sendForm(request: FastifyRequest, reply: FastifyReply, site: string, errors: readonly FormError[] = [], status = 200) {
  const body = html`${notice({
    kind: 'warn',
    title: t`You cannot undo this`,
    body: html`<p>${t`All scans of ${html`<span class="address">${site}</span>`} are deleted for everyone, with their results and reports.`}</p>
        <p>${t`These stay:`}</p>
        <ul>
          <li>${t`credits that were charged`}</li>
          <li>${t`schedules, which scan the site again, and known issues: delete them first`}</li>
          <li>${t`the audit log, which names the site`}</li>
          <li>${t`AccessibilityScans in the cluster, until they are deleted there`}</li>
        </ul>`,
  })}
    <form method="post" action="${sitePath(site)}/delete" novalidate>
      ${csrfField(request)}
      ${textField({
        name: 'site',
        label: t`The host of the site, to confirm`,
        // To send it again, only the button is pressed.
        value: status === 409 ? site : '',
        required: true,
        autocomplete: 'off',
        spellcheck: false,
        hint: site,
        error: errorOf(errors, 'site'),
      })}
      ${actions(button({ text: t`Delete the site`, kind: 'danger' }), linkButton({ text: t`Keep it`, href: sitePath(site), kind: 'quiet' }))}
    </form>`;
  const trail = [
    { text: t`Sites`, href: DASHBOARD_PATH },
    { text: site, href: sitePath(site) },
  ];
  return reply.page(titledPage({ request, title: t`Delete the site`, active: 'sites', trail, errors, narrow: true, body }), { status });
}
