/** The bounds of a view: texts and lists of a hostile page may have any length. Pure. */
import { URL_MAX_LENGTH } from '../../core/scan/targets.ts';
import { NODE_HTML_MAX } from '../schema/schema.ts';

/** The maximum lengths of texts, in characters. */
const TEXT_MAX = {
  url: URL_MAX_LENGTH,
  name: 200,
  title: 300,
  help: 500,
  text: 2000,
  selector: 1000,
  html: NODE_HTML_MAX,
} as const;

/** Cuts a text that is too long. It then ends with `…`. */
export function shortened(text: string, kind: keyof typeof TEXT_MAX): string {
  const max = TEXT_MAX[kind];
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
