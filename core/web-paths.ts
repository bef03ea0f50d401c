/** Addresses of web pages that mails, pages and responses link to, without the service's base address. */
import type { Locale } from './scan/locales.ts';

/** The status and result page of a public scan. English pages have no prefix. */
export const resultPath = (locale: Locale, token: string): string => `${locale === 'en' ? '' : `/${locale}`}/scan/${token}`;

/** The result of a public scan for those whom its visitor gave the link. It shows the result and nothing else. */
export const sharedPath = (locale: Locale, share: string): string => `${locale === 'en' ? '' : `/${locale}`}/shared/${share}`;

/** The page of the reader's account. */
export const ACCOUNT_PATH = '/dashboard/account';
export const MAILS_PATH = `${ACCOUNT_PATH}/mails`;

/** The page of an unsubscribe link, in the language of the last mail. */
export const unsubscribePath = (token: string): string => `/unsubscribe/${token}`;

/** The page of a recipient without an account: the consent, and the end of all mails of the organisation. */
export const recipientPath = (token: string): string => `/mails/${token}`;

/** The page that ends mails about one topic, in the language of their reader. */
export const stopMailsPath = (token: string, topic: string): string => `${unsubscribePath(token)}/${encodeURIComponent(topic)}`;

/** The page that shows the difference of a scan to its baseline, or to the scan before it. */
export const differencePath = (scanId: string): string => `/dashboard/scans/${scanId}/difference`;

/** The first page of the dashboard: the sites of the organisation. */
export const DASHBOARD_PATH = '/dashboard';

/** The sites that members have hidden. */
export const HIDDEN_SITES_PATH = `${DASHBOARD_PATH}?hidden=yes`;

/** The list of scans in the dashboard. */
export const SCANS_PATH = '/dashboard/scans';

/** The page of a site. @param optionsKey which of its scans are shown. Default: those of the group that stands for the site */
export const sitePath = (site: string, optionsKey?: string): string =>
  `/dashboard/sites/${encodeURIComponent(site)}${optionsKey === undefined ? '' : `/${optionsKey}`}`;

/** The page of a scan in the dashboard. */
export const scanPath = (scanId: string): string => `/dashboard/scans/${scanId}`;

/** A root cause on the page of a scan. */
export const causePath = (scanId: string, fingerprint: string): string =>
  `${scanPath(scanId)}?cause=${encodeURIComponent(fingerprint)}#causes`;

/** The list of the pages of a scan. */
export const pagesPath = (scanId: string): string => `${scanPath(scanId)}/pages`;

/** The success criteria of a scan. */
export const criteriaPath = (scanId: string): string => `${scanPath(scanId)}/criteria`;

/** What was found on one page of a scan. @param page its number in the scan, from 1 */
export const pagePath = (scanId: string, page: number | string): string => `${pagesPath(scanId)}/${page}`;

/** A root cause of a scan as an issue for a tracker. */
export const ticketPath = (scanId: string, fingerprint: string): string => `${scanPath(scanId)}/causes/${fingerprint}/ticket`;

/** The schedules of an organisation. */
export const SCHEDULES_PATH = '/dashboard/schedules';
export const schedulePath = ({ namespace, name }: { namespace: string; name: string }): string => `${SCHEDULES_PATH}/${namespace}/${name}`;

/** The page of the organisation's credits. */
export const CREDITS_PATH = '/dashboard/credits';

/** The pages of the organisation's API keys, and of its members. */
export const KEYS_PATH = '/dashboard/settings/api-keys';
export const MEMBERS_PATH = '/dashboard/settings/members';

/** The page of those who get mails without an account. */
export const RECIPIENTS_PATH = '/dashboard/settings/recipients';

/** The pages of the organisation's webhooks. */
export const WEBHOOKS_PATH = '/dashboard/settings/webhooks';

/** The page of the organisation's tracker for issues. */
export const TRACKER_PATH = '/dashboard/settings/tracker';

/** The pages of the organisation's known issues. */
export const KNOWN_ISSUES_PATH = '/dashboard/known-issues';

/** The contents of the documentation. */
export const DOCS_PATH = '/docs';

/** The results of a search in the documentation; the query has the words as `q`. */
export const DOCS_SEARCH_PATH = `${DOCS_PATH}/search`;

/** A page of the documentation. @param name of a file in docs/, without `.md` */
export const docPath = (name: string): string => `${DOCS_PATH}/${name}`;

export const API_REFERENCE_PATH = docPath('api');

/** The explanation of an error. @param code null for invalid requests, whose `detail` is a list */
export const errorDocsPath = (code: string | null): string => `${docPath('reference')}#${code ?? 'validation-errors'}`;
