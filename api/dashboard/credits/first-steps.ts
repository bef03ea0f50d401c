/** What a new organisation does first. Pages show it until all steps are done. */
import { card } from '../../web/components/index.ts';
import { badge } from '../../web/components/badges.ts';
import { link } from '../../web/components/buttons.ts';
import { html, NOTHING, type Html, type HtmlValue } from '../../web/html.ts';
import type { ScopedStores } from '../../accounts/scoped-stores.ts';

export interface Steps {
  /** The organisation has ever been granted credits. */
  credits: boolean;
  /** It has a live key. */
  key: boolean;
  /** It has submitted a scan. */
  scan: boolean;
}

/** Reads which steps are done. */
export async function readSteps({ credits, keys, scans }: Pick<ScopedStores, 'credits' | 'keys' | 'scans'>): Promise<Steps> {
  const [{ granted }, live, submitted] = await Promise.all([
    credits.balance(),
    keys.list({ status: 'live', limit: 1 }),
    scans.search({ limit: 1 }),
  ]);
  return { credits: granted > 0, key: live.length > 0, scan: submitted.rows.length > 0 };
}

/** The steps with their states; nothing if all are done. @param permissions of the person, who gets links only to what is permitted */
export function firstSteps(steps: Steps, permissions: readonly string[]): Html {
  if (steps.credits && steps.key && steps.scan) return NOTHING;
  const may = (permission: string, text: string, href: string): HtmlValue => (permissions.includes(permission) ? link(text, href) : text);
  const items: [done: boolean, text: HtmlValue][] = [
    [steps.credits, 'Get credits. The operator of this service grants them.'],
    [steps.key, html`${may('keys:write', 'Create an API key', '/dashboard/settings/api-keys/new')} for your pipeline.`],
    [steps.scan, html`${may('scans:write', 'Scan a site', '/dashboard/scans/new')}, or submit one with the key.`],
  ];
  return card({
    title: 'First steps',
    body: html`<ol>
      ${items.map(([done, text]) => html`<li>${text} ${done ? badge('good', 'Done') : badge('plain', 'To do')}</li>`)}
    </ol>`,
  });
}
