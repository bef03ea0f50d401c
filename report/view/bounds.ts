/** The bounds of a view: texts and lists of a hostile page may have any length. Pure. */
import type { TSchema } from 'typebox';
import { KNOWN_ISSUE_TEXT_MAX } from '../../core/scan/known-issues.ts';
import { URL_MAX_LENGTH } from '../../core/scan/targets.ts';
import { NODE_HTML_MAX } from '../schema/page.ts';
import { VIEW_LIMITS } from './schema.ts';

/** The maximum lengths of texts in characters, by field. */
const TEXT_MAX: Readonly<Record<string, number>> = {
  ...Object.fromEntries(
    ['url', 'final_url', 'help_url', 'page_url', 'page_urls', 'same_as', 'linked_from'].map((field) => [field, URL_MAX_LENGTH]),
  ),
  ...{ html: NODE_HTML_MAX, selector: 1000, frame_path: 1000, shadow_path: 1000, path: 1000 },
  ...{ title: 300, help: 500, message: 500, description: 2000, failure_summary: 2000 },
  reason: KNOWN_ISSUE_TEXT_MAX.reason,
};
const OTHER_TEXT_MAX = 200;
/** Frames or shadow hosts of a path, criteria of a rule: more than there usually are. */
const OTHER_LIST_MAX = 20;

/** A part of a report with its texts and lists cut. @param field the one that has the value */
export function bounded<T>(value: T, field = ''): T {
  if (typeof value === 'string') return shortened(value, TEXT_MAX[field] ?? OTHER_TEXT_MAX) as T;
  if (Array.isArray(value)) {
    const max = Object.hasOwn(VIEW_LIMITS, field) ? VIEW_LIMITS[field as keyof typeof VIEW_LIMITS] : OTHER_LIST_MAX;
    return value.slice(0, max).map((entry: unknown) => bounded(entry, field)) as T;
  }
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, entry]) => [name, bounded<unknown>(entry, name)])) as T;
}

/** Cuts a text that is too long. It then ends with `…`. */
export function shortened(text: string, max: number): string {
  const cut = text.length <= max ? text : `${text.slice(0, max - 1)}…`;
  // A cut text would keep the whole one in memory, and half a surrogate pair is not valid UTF-8.
  return cut.isWellFormed() && cut === text ? text : Buffer.from(cut.toWellFormed()).toString();
}

/** The size of a value as JSON, in bytes. */
export const jsonBytes = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));

/** Returns the longest start of a list that is at most `bytes` as JSON. */
export function startWithin<T>(entries: readonly T[], bytes: number): { start: T[]; bytes: number } {
  let used = 0;
  let count = 0;
  for (const entry of entries) {
    const size = jsonBytes(entry) + 1;
    if (used + size > bytes) break;
    used += size;
    count += 1;
  }
  return { start: entries.slice(0, count), bytes: used };
}

export interface ViewList<Name extends string> {
  name: Name;
  entries: readonly unknown[];
  /** The part of the space that earlier lists left, 0 to 1. */
  share: number;
}

/** Fills the empty lists of a view until it has at most `maxBytes` as JSON. Each list keeps its start. */
export function fitting<Name extends string, View extends Record<Name, unknown[]>>(
  view: View,
  maxBytes: number,
  lists: readonly ViewList<Name>[],
): View {
  let space = maxBytes - jsonBytes(view);
  const filled: Partial<Record<Name, unknown[]>> = {};
  for (const { name, entries, share } of lists) {
    const { start, bytes } = startWithin(entries, Math.floor(space * share));
    filled[name] = start;
    space -= bytes;
  }
  return { ...view, ...filled };
}

/** The schema with open objects: the newer version that wrote a view may have added fields. */
export const openSchema = <T extends TSchema>(schema: T): T =>
  JSON.parse(
    JSON.stringify(schema, (name, value: unknown) => (name === 'additionalProperties' && value === false ? undefined : value)),
  ) as T;
