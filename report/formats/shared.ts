/** What the formats share. Pure. */
import { findingsOf, type ReportPage, type ReportViolation } from '../schema/page.ts';
import type { Report, ReportKnownIssue } from '../schema/report.ts';

/**
 * Converts the address of a page to a URI by RFC 3986. Browsers allow more: they keep `|`, `[` and a `%` that encodes nothing in
 * a query.
 */
export function uriOf(url: string): string {
  const [, origin = '', rest = ''] = /^([a-z][a-z0-9+.-]*:\/\/[^/?#]*)?(.*)$/isu.exec(url.toWellFormed())!;
  const hash = rest.indexOf('#');
  const [before, fragment] = hash === -1 ? [rest, null] : [rest.slice(0, hash), rest.slice(hash + 1)];
  return (
    (origin === '' ? '' : escaped(origin, /[^\w\-.~:/?[\]@!$&'()*+,;=%]/gu)) +
    escaped(before, /[^\w\-.~:/?@!$&'()*+,;=%]/gu) +
    (fragment === null ? '' : `#${escaped(fragment, /[^\w\-.~:/?@!$&'()*+,;=%]/gu)}`)
  );
}

/**
 * Converts the address of a page to a relative URI without query and fragment, `host/path`. Their delimiters are escaped, so that
 * each page is a file of its own. So is the colon of a port, which would make the host a scheme.
 */
export function relativeUriOf(url: string): string {
  const [, host, path, rest] = /^(?:[a-z][a-z0-9+.-]*:\/\/)?([^/?#]*)([^?#]*)(.*)$/isu.exec(url.toWellFormed())!;
  return (
    escaped(host!, /[^\w\-.~@!$&'()*+,;=%]/gu) + escaped(path!, /[^\w\-.~:/@!$&'()*+,;=%]/gu) + escaped(rest!, /[^\w\-.~@!$&'()*+,;=%]/gu)
  );
}

const escaped = (part: string, others: RegExp): string => part.replace(others, encodeURIComponent).replace(/%(?![0-9a-f]{2})/gi, '%25');

/** Returns the first finding of each rule: its texts are the same in all of them. */
export function firstFindings(pages: readonly ReportPage[]): Map<string, ReportViolation> {
  const first = new Map<string, ReportViolation>();
  for (const page of pages)
    if (page.tested) for (const finding of findingsOf(page)) if (!first.has(finding.rule)) first.set(finding.rule, finding);
  return first;
}

/** Why a known issue is accepted, by whom and until when. */
export const acceptance = ({ reason, owner, expires_at }: ReportKnownIssue): string => `${reason} (owner: ${owner}, until ${expires_at})`;

/** `N elements`. */
export const elements = (count: number): string => `${count} ${count === 1 ? 'element' : 'elements'}`;

/** The conformance target of a scan, such as `WCAG 2.2 AA`. */
export const targetOf = ({ options }: Report['scan']): string => `WCAG ${options.wcag_version} ${options.wcag_level}`;
