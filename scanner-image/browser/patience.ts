/**
 * What waiting has found so far in a scan, by template: how long the next page may wait, and for what. Patient on the first
 * page of a template, quick on the rest, unless waiting found something. Pure.
 */

/** What a page may wait for after it is loaded and quiet. */
export interface WaitPlan {
  /** The time after the last change in which timers are waited for, in milliseconds. */
  horizonMs: number;
  /** Delays of timers that need no wait, in milliseconds; null for all timers. */
  skip: readonly number[] | null;
  /** Whether to scroll through the page. */
  scroll: boolean;
  /** Whether to wait for the first message of a WebSocket or an EventSource. */
  messages: boolean;
  /** The limit for becoming quiet, in milliseconds. */
  settleMs: number;
  /** The limit for the element of `waitFor`, in milliseconds. */
  waitForMs: number;
}

/** A wait that a page has had. */
export type Waited =
  | { for: 'timers'; delays: readonly number[]; ms: number; found: boolean }
  | { for: 'scroll' | 'messages'; ms: number; found: boolean }
  /** The page never became quiet. `found`: the content has changed after the short limit. */
  | { for: 'quiet'; ms: number; found: boolean }
  /** `found`: the element of `waitFor` appeared. */
  | { for: 'element'; ms: number; found: boolean };

export interface Patience {
  plan(template: string): WaitPlan;
  learn(template: string, waited: Waited): void;
}

/** The horizon of templates on which waiting has not found anything yet, and of the others, in milliseconds. */
const FIRST_HORIZON_MS = 1000;
const PROVEN_HORIZON_MS = 3000;
/** The limits for becoming quiet, in milliseconds: in general, and on templates whose pages always change without showing more. */
const SETTLE_MS = 3000;
const RESTLESS_SETTLE_MS = 700;
/** The limits for the element of `waitFor`, in milliseconds: on the first page, and on templates where it was missing. */
const WAIT_FOR_MS = 10_000;
const MISSING_WAIT_FOR_MS = 2000;
/** A kind of wait that found nothing on this number of templates, and something on none, is not tried on others. */
const FRUITLESS_TEMPLATES = 2;
/** The time that waits of one scan may take without finding anything, in milliseconds. After that only proven waits remain. */
const WASTE_MAX_MS = 4000;

interface Record {
  proven: Set<string>;
  fruitless: Set<string>;
}

const keysOf = (waited: Waited): string[] => (waited.for === 'timers' ? waited.delays.map((delay) => `timer ${delay}`) : [waited.for]);

/** Starts without any knowledge. One object serves all workers of a scan. */
export function createPatience(): Patience {
  const templates = new Map<string, Record>();
  /** The number of templates on which a wait found nothing, by its key. */
  const fruitless = new Map<string, number>();
  const provenAnywhere = new Set<string>();
  let wastedMs = 0;

  function recordOf(template: string): Record {
    let record = templates.get(template);
    if (record === undefined) templates.set(template, (record = { proven: new Set(), fruitless: new Set() }));
    return record;
  }

  function isWorth(record: Record, key: string): boolean {
    if (record.proven.has(key)) return true;
    if (record.fruitless.has(key) || wastedMs >= WASTE_MAX_MS) return false;
    return provenAnywhere.has(key) || (fruitless.get(key) ?? 0) < FRUITLESS_TEMPLATES;
  }

  function timersToSkip(record: Record): number[] | null {
    const known = new Set([...fruitless.keys(), ...record.fruitless].filter((key) => key.startsWith('timer ')));
    const proven = [...record.proven].some((key) => key.startsWith('timer '));
    // Delays that are not known yet are waited for while there is time to waste.
    if (wastedMs >= WASTE_MAX_MS && !proven) return null;
    return [...known].filter((key) => !isWorth(record, key)).map((key) => Number(key.slice('timer '.length)));
  }

  return {
    plan(template) {
      const record = recordOf(template);
      return {
        horizonMs: record.proven.size > 0 ? PROVEN_HORIZON_MS : FIRST_HORIZON_MS,
        skip: timersToSkip(record),
        scroll: isWorth(record, 'scroll'),
        messages: isWorth(record, 'messages'),
        settleMs: record.fruitless.has('quiet') && !record.proven.has('quiet') ? RESTLESS_SETTLE_MS : SETTLE_MS,
        waitForMs: record.fruitless.has('element') && !record.proven.has('element') ? MISSING_WAIT_FOR_MS : WAIT_FOR_MS,
      };
    },
    learn(template, waited) {
      const record = recordOf(template);
      // The caller has asked for this wait, so it is not wasted.
      if (!waited.found && waited.for !== 'element') wastedMs += waited.ms;
      for (const key of keysOf(waited)) {
        if (waited.found) {
          record.proven.add(key);
          provenAnywhere.add(key);
        } else if (!record.fruitless.has(key)) {
          record.fruitless.add(key);
          fruitless.set(key, (fruitless.get(key) ?? 0) + 1);
        }
      }
    },
  };
}
