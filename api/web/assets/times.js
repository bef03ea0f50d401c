/**
 * Shows times in the reader's zone, and near ones relative to now except in sentences; their titles are exact. It runs before the page is
 * drawn, where browsers can do that, so that nothing moves. Without scripts, times are in UTC.
 */
const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

const formats = new Map();

function formatsOf(language) {
  if (!formats.has(language)) {
    const format = (options) => new Intl.DateTimeFormat(language, options);
    formats.set(language, {
      relative: new Intl.RelativeTimeFormat(language, { numeric: 'auto' }),
      clock: format({ timeStyle: 'short' }),
      day: format({ day: 'numeric', month: 'short', hour: 'numeric', minute: '2-digit' }),
      year: format({ dateStyle: 'medium', timeStyle: 'short' }),
      exact: format({ dateStyle: 'full', timeStyle: 'long' }),
    });
  }
  return formats.get(language);
}

const midnightOf = (at) => new Date(at.getFullYear(), at.getMonth(), at.getDate());

const absoluteOf = (at, now, { day, year }) => (at.getFullYear() === now.getFullYear() ? day : year).format(at);

function relativeOf(at, now, own) {
  const { relative, clock } = own;
  const minutes = Math.trunc((at - now) / MINUTE_MS);
  if (Math.abs(minutes) < 60) return minutes === 0 ? relative.format(0, 'second') : relative.format(minutes, 'minute');
  const days = Math.round((midnightOf(at) - midnightOf(now)) / DAY_MS);
  if (Math.abs(days) <= 1) return `${relative.format(days, 'day')}, ${clock.format(at)}`;
  return absoluteOf(at, now, own);
}

/** @param root a document or an element */
export function showTimes(root) {
  const now = new Date();
  for (const element of root.querySelectorAll('time[data-local]')) {
    const at = new Date(element.dateTime);
    const own = formatsOf(element.closest('[lang]')?.lang || document.documentElement.lang);
    element.title = own.exact.format(at);
    const text = (element.dataset.local === 'absolute' ? absoluteOf : relativeOf)(at, now, own);
    if (element.textContent !== text) element.textContent = text;
  }
  for (const element of root.querySelectorAll('[data-zone-name]')) {
    element.append(Intl.DateTimeFormat().resolvedOptions().timeZone);
    element.hidden = false;
    element.removeAttribute('data-zone-name');
  }
}

showTimes(document);
setInterval(() => showTimes(document), MINUTE_MS);
