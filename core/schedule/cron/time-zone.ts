/** UTC offsets and their changes for a zone of the IANA time zone database, from the copy that Node.js carries. All times are milliseconds. */

/** A change of a zone's UTC offset: from `at` on, `after` is added to UTC instead of `before`. */
export interface OffsetChange {
  at: number;
  before: number;
  after: number;
}

export interface TimeZone {
  offsetAt(instant: number): number;
  /** The changes with `after < at <= upTo`, ascending. */
  changes(after: number, upTo: number): OffsetChange[];
}

/** Since 1970, no zone has kept an offset for less than six days. */
const SAMPLE_MS = 3 * 86_400_000;
const SECOND_MS = 1000;

/** Three letters that the database knows. ICU knows more (BST is Asia/Dhaka there), which Kubernetes refuses. */
const THREE_LETTER_ZONES = new Set(['CET', 'EET', 'EST', 'GMT', 'HST', 'MET', 'MST', 'PRC', 'ROC', 'ROK', 'UCT', 'UTC', 'WET']);

function isDatabaseName(name: string): boolean {
  if (!/^[A-Za-z][A-Za-z0-9_+/-]*$/.test(name) || /^SystemV\//i.test(name)) return false;
  return name.length !== 3 || THREE_LETTER_ZONES.has(name.toUpperCase());
}

function formatterOf(name: string): Intl.DateTimeFormat | null {
  try {
    return new Intl.DateTimeFormat('en-US', { timeZone: name, timeZoneName: 'longOffset', year: 'numeric' });
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
}

/** Reads the end of, for example, `2026, GMT+05:30`. Offsets before 1972 may have seconds. */
function readOffset(formatted: string): number {
  const found = /GMT(?:([+-])(\d\d):(\d\d)(?::(\d\d))?)?$/.exec(formatted);
  if (found === null) throw new Error(`no UTC offset in ${formatted}`);
  const [, sign, hours = 0, minutes = 0, seconds = 0] = found;
  const offset = (Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds)) * SECOND_MS;
  return sign === '-' ? -offset : offset;
}

/** The instant of the change in (low, high], which is a whole second. */
function changeWithin(offsetAt: (instant: number) => number, low: number, high: number): number {
  const before = offsetAt(low);
  let [lower, upper] = [low / SECOND_MS, high / SECOND_MS];
  while (upper - lower > 1) {
    const middle = Math.floor((lower + upper) / 2);
    if (offsetAt(middle * SECOND_MS) === before) lower = middle;
    else upper = middle;
  }
  return upper * SECOND_MS;
}

interface ZoneYear {
  offset: number;
  changes: OffsetChange[];
}

/** One year of UTC. */
function readYear(offsetAt: (instant: number) => number, year: number): ZoneYear {
  const [start, end] = [Date.UTC(year, 0), Date.UTC(year + 1, 0)];
  const zoneYear: ZoneYear = { offset: offsetAt(start - SECOND_MS), changes: [] };
  let before = zoneYear.offset;
  for (let low = start - SECOND_MS; low < end - SECOND_MS; low += SAMPLE_MS) {
    const high = Math.min(low + SAMPLE_MS, end - SECOND_MS);
    const after = offsetAt(high);
    if (after !== before) zoneYear.changes.push({ at: changeWithin(offsetAt, low, high), before, after });
    before = after;
  }
  return zoneYear;
}

function createTimeZone(formatter: Intl.DateTimeFormat): TimeZone {
  const years = new Map<number, ZoneYear>();
  const readInstant = (instant: number): number => readOffset(formatter.format(instant));
  const yearOf = (instant: number): number => new Date(instant).getUTCFullYear();
  const zoneYear = (year: number): ZoneYear => {
    const known = years.get(year);
    if (known !== undefined) return known;
    const read = readYear(readInstant, year);
    years.set(year, read);
    return read;
  };
  return {
    offsetAt(instant) {
      const { offset, changes } = zoneYear(yearOf(instant));
      return changes.findLast((change) => change.at <= instant)?.after ?? offset;
    },
    changes(after, upTo) {
      const found: OffsetChange[] = [];
      for (let year = yearOf(after); year <= yearOf(upTo); year += 1)
        found.push(...zoneYear(year).changes.filter((change) => change.at > after && change.at <= upTo));
      return found;
    },
  };
}

/** By lower-case name, so that the number of entries is bounded by the size of the database. */
const zones = new Map<string, TimeZone>();

/** The zone with this name, or null if the database has none. `Local` and plain offsets such as `+01:00` are no names. */
export function timeZoneOf(name: string): TimeZone | null {
  const known = zones.get(name.toLowerCase());
  if (known !== undefined) return known;
  const formatter = isDatabaseName(name) ? formatterOf(name) : null;
  if (formatter === null) return null;
  const zone = createTimeZone(formatter);
  zones.set(name.toLowerCase(), zone);
  return zone;
}
