/** Dates and times as text (RFC 3339). */

const DATE_TIME = /^(\d{4})-(\d\d)-(\d\d)T([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d+)?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$/;

/**
 * Reads a date and time with a time zone, in any case. Returns null if it is not valid by RFC 3339, or if `Date` or a
 * response cannot represent it: a leap second (`23:59:60`), and a year above 9999 in UTC.
 */
export function readDateTime(text: string): Date | null {
  // RFC 3339 permits lower case, `Date` need not.
  const upper = text.toUpperCase();
  const [, year, month, day] = DATE_TIME.exec(upper) ?? [];
  if (year === undefined) return null;
  // `Date` would read February 30 as March 2.
  const midnight = new Date(0);
  midnight.setUTCFullYear(Number(year), Number(month) - 1, Number(day));
  if (midnight.getUTCMonth() !== Number(month) - 1 || midnight.getUTCDate() !== Number(day)) return null;
  const date = new Date(upper);
  return Number.isNaN(date.getTime()) || date.getUTCFullYear() > 9999 || date.getUTCFullYear() < 0 ? null : date;
}
