/**
 * The order in which the pages of a site are taken: every second page is the next one breadth first, and the others come from
 * the templates in turn, so that a few pages of a large site show as many of its templates as possible. Pure.
 *
 * Pages are found while others are in progress, and how many are depends on the number of workers. So each choice is made as
 * of a position: it sees only what was found and closed up to there.
 */
import type { PageAddress } from './address.ts';

export interface Entry {
  address: PageAddress;
  key: string;
  depth: number;
  /** The number of links in a row that led here within the template. */
  chain: number;
  template: Template;
  /** The position of the page that led here first. */
  from: number;
  chosen: boolean;
}

/** The pages whose addresses have the same shape. */
export interface Template {
  entries: Entry[];
  /** The index of the first entry that may not be chosen yet. */
  next: number;
  chosen: number;
  /** The number of folded pages since the last one that was tested. */
  folded: number;
  /** The position from which no more of its entries are chosen. */
  closedAt: number;
}

export const newTemplate = (): Template => ({ entries: [], next: 0, chosen: 0, folded: 0, closedAt: Number.POSITIVE_INFINITY });

export interface Sampling {
  readonly size: number;
  add(entry: Entry): void;
  /** Chooses the next entry as of a position, or returns null. Positions must not decrease. */
  choose(asOf: number): Entry | null;
}

export function createSampling(): Sampling {
  const queue: Entry[] = [];
  const templates = new Set<Template>();
  let head = 0;
  let turn = 0;

  /** The first entry of a list that can be chosen, and its index. */
  function firstOf(entries: readonly Entry[], start: number, asOf: number): { at: number; entry: Entry | null } {
    let at = start;
    for (let entry = entries[at]; entry !== undefined && (entry.chosen || entry.template.closedAt <= asOf); entry = entries[at]) at += 1;
    const entry = entries[at];
    return { at, entry: entry !== undefined && entry.from <= asOf ? entry : null };
  }

  function breadthFirst(asOf: number): Entry | null {
    const { at, entry } = firstOf(queue, head, asOf);
    head = at;
    return entry;
  }

  /** The template of which the fewest pages were chosen; of several, the one whose page was found first. */
  function byTemplate(asOf: number): Entry | null {
    let best: Entry | null = null;
    for (const template of templates) {
      if (best !== null && template.chosen >= best.template.chosen) continue;
      const { at, entry } = firstOf(template.entries, template.next, asOf);
      template.next = at;
      best = entry ?? best;
    }
    return best;
  }

  return {
    get size() {
      return queue.length;
    },
    add(entry) {
      queue.push(entry);
      entry.template.entries.push(entry);
      templates.add(entry.template);
    },
    choose(asOf) {
      const entry = turn % 2 === 0 ? byTemplate(asOf) : breadthFirst(asOf);
      if (entry === null) return null;
      turn += 1;
      entry.chosen = true;
      entry.template.chosen += 1;
      return entry;
    },
  };
}
