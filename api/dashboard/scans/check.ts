/** Pages that are checked again: the buttons, the newest results, and the answer on the page of a check. Pure. */
import { CHECK_DOUBTS, type CheckAnswer, type CheckOutcome, NOTHING_TO_FIX } from '../../../core/scan/baseline.ts';
import { isTerminal } from '../../../core/scan/phases.ts';
import { pagesPath, scanPath } from '../../../core/web-paths.ts';
import { html, type Html } from '../../../report/html/html.ts';
import { isCheck, type ScanRow } from '../../../stores/scans/scan-row.ts';
import { button, hiddenField, link, notice, type NoticeKind, time } from '../../web/components.ts';
import { causesHref } from '../findings/select.ts';
import { count, number, siteLink } from './words.ts';

export const checkPath = (scanId: string): string => `${scanPath(scanId)}/check`;

/** The form of all buttons of a page that check something again. */
export const checkForm = (scanId: string, { csrfToken, idempotencyKey }: { csrfToken: string; idempotencyKey: string }): Html =>
  html`<form method="post" id="check-form" action="${checkPath(scanId)}">${hiddenField('_csrf', csrfToken)}${hiddenField('idempotency_key', idempotencyKey)}</form>`;

/** The button that checks a page, or a root cause there. @param hiddenText for screen readers, if there are several buttons */
export const checkButton = ({ url, cause }: { url: string; cause?: string }, hiddenText?: string): Html =>
  button({
    text: cause === undefined ? 'Check this page again' : 'Check again',
    name: 'check',
    value: [cause, url].filter(Boolean).join(' '),
    hiddenText,
    attributes: { form: 'check-form' },
  });

/** Reads the value of a button. An address has no space. */
export function readCheck(value: string): { url: string; cause?: string } {
  const [, cause, url] = /^([0-9a-f]{16}) (.*)$/s.exec(value) ?? [];
  return cause === undefined ? { url: value } : { url: url!, cause };
}

/** The newest done check of each root cause of a scan. @param checks newest first */
export const newestByCause = (checks: readonly ScanRow[]): ReadonlyMap<string, ScanRow> =>
  new Map(checks.flatMap((row) => (row.baseline?.check?.cause === undefined ? [] : [[row.baseline.check.cause, row] as const])).reverse());

/** The newest done check of all violations of a page. @param checks newest first */
export const newestOfPage = (checks: readonly ScanRow[], url: string): ScanRow | undefined =>
  checks.find(({ baseline, options }) => baseline?.check?.cause === undefined && options.url === url);

/** The result of a check, where its scan is shown. @param named whether it says which page was checked */
export function checkLink(row: ScanRow | undefined, named = false): Html | false {
  const checked = row?.outcome?.baseline?.checked;
  if (row === undefined || checked === undefined) return false;
  return html`<p class="soft">Checked ${time(row.createdAt)}: ${link(titleOf(checked), scanPath(row.id))}${named && html` on ${siteLink(row.options.url)}`}</p>`;
}

const VIOLATIONS = { one: '{n} violation', other: '{n} violations' };

/** The answer, first in what people read. */
export function titleOf({ answer, before, left, new: added }: CheckOutcome): string {
  if (answer === 'still_there') return `Still there: ${number(left)} of ${count(VIOLATIONS, Math.max(before, left))}`;
  if (answer === 'new') return `New: ${count(VIOLATIONS, added)}`;
  if (answer === 'fixed' && before === 0) return NOTHING_TO_FIX;
  return answer === 'fixed' ? `Fixed: ${count(VIOLATIONS, before)}` : 'It is unknown whether this is fixed';
}

const KINDS: Readonly<Record<CheckAnswer, NoticeKind>> = { fixed: 'good', still_there: 'bad', new: 'bad', unknown: 'warn' };

/** What a check is about and what came of it, before everything else on its page. @param name of the root cause, if it is known */
export function checkNotice({ phase, baseline, outcome, options }: ScanRow, name: string | null): Html {
  const { scan = '', check: { cause } = {} } = baseline ?? {};
  const checked = outcome?.baseline?.checked;
  const about = cause === undefined ? 'all violations of the page' : (name ?? `the root cause ${cause}`);
  const back = link('the scan that found it', cause === undefined ? pagesPath(scan) : causesHref(scan, { cause }));
  const title = checked !== undefined ? titleOf(checked) : isTerminal(phase) ? 'It is unknown whether this is fixed' : undefined;
  const more =
    checked === undefined || checked.new === 0 || checked.answer === 'new'
      ? false
      : ` The page has ${count(VIOLATIONS, checked.new)} that the earlier scan does not have there.`;
  return notice({
    id: 'check',
    kind: checked === undefined ? (isTerminal(phase) ? 'warn' : 'note') : KINDS[checked.answer],
    title,
    body: html`<p>This checks ${about} on ${siteLink(options.url)}.${more} ${checked?.reason !== undefined && CHECK_DOUBTS[checked.reason]}</p>
      <p>Back to ${back}.</p>`,
  });
}

/** The root cause and the scan that a check is about; null if it is about a page, or no check. */
export const causeOfCheck = (row: ScanRow): { scan: string; cause: string } | null =>
  isCheck(row) && row.baseline?.check?.cause !== undefined ? { scan: row.baseline.scan!, cause: row.baseline.check.cause } : null;
