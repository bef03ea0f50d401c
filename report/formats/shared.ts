/** What the formats share. Pure. */
import { consentSentence } from '../view/consent-sentence.ts';
import type { Report, ReportNode, ReportPage, ReportViolation, TestedPage, UntestedPage } from '../schema/schema.ts';

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
 * Converts the address of a page to a relative URI without query and fragment, `host/path`: their delimiters are escaped, so that
 * each page is a file of its own, and so is the colon of a port, which would make the host a scheme.
 */
export function relativeUriOf(url: string): string {
  const [, host, path, rest] = /^(?:[a-z][a-z0-9+.-]*:\/\/)?([^/?#]*)([^?#]*)(.*)$/isu.exec(url.toWellFormed())!;
  return (
    escaped(host!, /[^\w\-.~@!$&'()*+,;=%]/gu) + escaped(path!, /[^\w\-.~:/@!$&'()*+,;=%]/gu) + escaped(rest!, /[^\w\-.~@!$&'()*+,;=%]/gu)
  );
}

const escaped = (part: string, others: RegExp): string => part.replace(others, encodeURIComponent).replace(/%(?![0-9a-f]{2})/gi, '%25');

/** Returns the path to an element: the selectors of frames and shadow hosts precede its own, separated by ` >>> `. */
export const elementPath = ({ frame_path, shadow_path, selector }: Pick<ReportNode, 'frame_path' | 'shadow_path' | 'selector'>): string =>
  [...frame_path, ...shadow_path, selector].join(' >>> ');

/** Returns the first finding of each rule: its texts are the same in all of them. */
export function firstFindings(pages: readonly ReportPage[]): Map<string, ReportViolation> {
  const first = new Map<string, ReportViolation>();
  for (const page of pages)
    if (page.tested)
      for (const finding of [...page.violations, ...page.needs_review, ...(page.advice ?? [])])
        if (!first.has(finding.rule)) first.set(finding.rule, finding);
  return first;
}

/** What is incomplete about the test of a page: frames that were not tested, and caveats. */
export function gapsOf(page: TestedPage): { kind: string; message: string }[] {
  return [
    ...page.frames_untested.map(({ path, url, reason, message }) => ({
      kind: `frame_${reason}`,
      message: `The frame ${path.join(' >>> ')} (${url}) was not tested. ${message}`,
    })),
    ...page.caveats,
  ];
}

/** Why a page was not tested, what covers it, and where it is linked from. */
export function untestedMessage({ reason, message, same_as, linked_from = [] }: UntestedPage): string {
  const same = same_as === undefined ? [] : [`(${same_as})`];
  const from = linked_from.length === 0 ? [] : [`Linked from ${linked_from.join(', ')}`];
  return [message || reason, ...same, ...from].join(' ');
}

/** What else the reader of a report must know about the scan. */
export function scanNotes({ consent, ...report }: Pick<Report, 'addresses_left' | 'consent'>): { kind: string; message: string }[] {
  const left = leftMessage(report);
  return [
    ...(consent === undefined ? [] : [{ kind: `consent_${consent.outcome}`, message: consentSentence(consent, 'en') }]),
    ...(left === null ? [] : [{ kind: 'addresses_left', message: left }]),
  ];
}

/** The sentence for addresses that were found and not taken up; null if there are none. */
const leftMessage = ({ addresses_left: left }: Pick<Report, 'addresses_left'>): string | null =>
  left === 0
    ? null
    : `${left.toLocaleString('en')} more ${left === 1 ? 'address was' : 'addresses were'} found and not tested, because enough pages were tested, the time was up, the rules of the scan leave ${left === 1 ? 'it out, or it is' : 'them out, or they are'} too long.`;

/** `N elements`. */
export const elements = (count: number): string => `${count} ${count === 1 ? 'element' : 'elements'}`;

/** The conformance target of a scan, such as `WCAG 2.2 AA`. */
export const targetOf = ({ options }: Report['scan']): string => `WCAG ${options.wcag_version} ${options.wcag_level}`;
