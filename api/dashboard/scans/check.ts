/** Pages that are checked again: the buttons, the newest results, and the answer on the page of a check. Pure. */
import { CHECK_DOUBTS, type CheckAnswer, type CheckOutcome, NOTHING_TO_FIX } from '../../../core/scan/baseline.ts';
import { isTerminal } from '../../../core/scan/phases.ts';
import { pagesPath, scanPath } from '../../../core/web-paths.ts';
import { html, type Html } from '../../../report/html/html.ts';
import { isCheck, type ScanRow } from '../../../stores/scans/scan-row.ts';
import { button, hiddenField, link, notice, type NoticeKind, time } from '../../web/components.ts';
import { causesHref } from '../findings/select.ts';
import { count, siteLink } from './words.ts';
import { forms, t, tr } from '../../web/texts.ts';

export const checkPath = (scanId: string): string => `${scanPath(scanId)}/check`;

/** The form of all buttons of a page that check something again. */
export const checkForm = (scanId: string, { csrfToken, idempotencyKey }: { csrfToken: string; idempotencyKey: string }): Html =>
  html`<form method="post" id="check-form" action="${checkPath(scanId)}">${hiddenField('_csrf', csrfToken)}${hiddenField('idempotency_key', idempotencyKey)}</form>`;

/** The button that checks a page, or a root cause there. @param hiddenText for screen readers, if there are several buttons */
export const checkButton = ({ url, cause }: { url: string; cause?: string }, hiddenText?: string): Html =>
  button({
    text: cause === undefined ? t`Check this page again` : t`Check again`,
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
  const [at, result] = [time(row.createdAt), link(titleOf(checked), scanPath(row.id))];
  return html`<p class="soft">${named ? t`Checked ${at}: ${result} on ${siteLink(row.options.url)}` : t`Checked ${at}: ${result}`}</p>`;
}

const STILL_THERE = forms('Still there: {left} of {n} violation', 'Still there: {left} of {n} violations');
const NEW = forms('New: {n} violation', 'New: {n} violations');
const FIXED = forms('Fixed: {n} violation', 'Fixed: {n} violations');

/** The answer, first in what people read. */
export function titleOf({ answer, before, left, new: added }: CheckOutcome): string {
  if (answer === 'still_there') return count(STILL_THERE, Math.max(before, left), { left });
  if (answer === 'new') return count(NEW, added);
  if (answer === 'fixed' && before === 0) return tr(NOTHING_TO_FIX);
  return answer === 'fixed' ? count(FIXED, before) : t`It is unknown whether this is fixed`;
}

const KINDS: Readonly<Record<CheckAnswer, NoticeKind>> = { fixed: 'good', still_there: 'bad', new: 'bad', unknown: 'warn' };

const ADDED = forms(
  'The page has {n} violation that the earlier scan does not have there.',
  'The page has {n} violations that the earlier scan does not have there.',
);

/** What a check is about and what came of it, before everything else on its page. @param name of the root cause, if it is known */
export function checkNotice({ phase, baseline, outcome, options }: ScanRow, name: string | null): Html {
  const { scan = '', check: { cause } = {} } = baseline ?? {};
  const checked = outcome?.baseline?.checked;
  const page = siteLink(options.url);
  const back = link(t`the scan that found it`, cause === undefined ? pagesPath(scan) : causesHref(scan, { cause }));
  const title = checked !== undefined ? titleOf(checked) : isTerminal(phase) ? t`It is unknown whether this is fixed` : undefined;
  const about =
    cause === undefined
      ? t`This checks all violations of the page on ${page}.`
      : t`This checks ${name ?? t`the root cause ${cause}`} on ${page}.`;
  const added = checked !== undefined && checked.new > 0 && checked.answer !== 'new' && count(ADDED, checked.new);
  return notice({
    id: 'check',
    kind: checked === undefined ? (isTerminal(phase) ? 'warn' : 'note') : KINDS[checked.answer],
    title,
    body: html`<p>${about} ${added} ${checked?.reason !== undefined && tr(CHECK_DOUBTS[checked.reason])}</p>
      <p>${t`Back to ${back}.`}</p>`,
  });
}

/** The root cause and the scan that a check is about; null if it is about a page, or no check. */
export const causeOfCheck = (row: ScanRow): { scan: string; cause: string } | null =>
  isCheck(row) && row.baseline?.check?.cause !== undefined ? { scan: row.baseline.scan!, cause: row.baseline.check.cause } : null;
