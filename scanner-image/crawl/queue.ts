/** The addresses that a scan has found: which are known, which wait, and which is chosen next. Bounded. Pure. */
import type { PageAddress } from './address.ts';
import { createSampling, newTemplate, type Entry, type Template } from './sampling.ts';
import { templateOf } from './template.ts';

/**
 * What became of an address: `queued`, `known` before, `endless` if the site leads from one such address to the next,
 * `excluded` by the scan, or `left` because more of them cannot be started.
 */
export type Added = 'queued' | 'known' | 'endless' | 'excluded' | 'left';

export interface Queue {
  /**
   * @param found.parent the page on which the address was found, if it was found on a page; `from` is its position
   * @param found.isExcluded called only for an address that would be queued, because rules take time
   */
  add(address: PageAddress, found: { depth: number; from: number; parent?: Entry; isExcluded?: () => boolean }): Added;
  /** Whether a link, a sitemap or the scan named a page; true if too many were named to know. */
  named(key: string): boolean;
  /** Marks a page as known, so that it is not chosen. */
  cover(key: string): void;
  covered(key: string): boolean;
  /** Chooses the entry of the next position; null if there is none before the pages up to a position are processed. */
  choose(latest: number): Entry | null;
  /** The position up to which the last choice looked. Everything up to there was processed, whatever the number of workers. */
  asOf(): number;
  /** The number of positions. */
  chosen(): number;
  at(position: number): Entry | undefined;
  /** Records whether the page of a position was folded into another. */
  record(position: number, folded: boolean): void;
  /** The number of addresses that may still be chosen. */
  waiting(): number;
  /** The number of addresses that were found and not chosen. */
  left(): number;
}

/**
 * The number of positions that a choice looks back, about the largest number of workers (core/protocol/pod-messages.ts): the
 * pages before are processed when the choice is made, whatever the number of workers. The first choices look back a little,
 * to see the templates that the first pages lead to; later ones look back further, so that the other workers go on for as
 * long as possible while one page is slow. Bounded, because results are kept until their turn.
 */
const lookBack = (position: number): number => Math.min(64, Math.max(8, Math.floor(position / 2)));
/** The number of queued addresses, as a multiple of the pages that may start. */
const QUEUE_FACTOR = 8;
/** The number of addresses that are remembered because they were left. Beyond it they are no longer counted. */
const LEFT_MAX = 100_000;
/** The number of named addresses that are remembered. */
const NAMED_MAX = 200_000;
/** A template leads on without end if this many links in a row lead to its next page, such as the next month of a calendar. */
export const CHAIN_MAX = 50;
/** A template is left after this many folded pages in a row, because it shows the same under any number of addresses. */
const FOLDED_IN_A_ROW = 10;

/** @param capacity the number of pages that may start; more addresses of one template cannot be chosen */
export function createQueue(capacity: number): Queue {
  const sampling = createSampling();
  const { templateFor, left, leave } = createRegister();
  const known = new Set<string>();
  const covered = new Set<string>();
  const named = new Set<string>();
  const unstarted = new Set<string>();
  /** Chosen entries by position. */
  const order: Entry[] = [];
  let asOf = -1;
  /** The number of unstarted addresses whose template was closed. */
  let closed = 0;

  const isFull = (template: Template): boolean =>
    isClosed(template) || template.entries.length >= capacity || sampling.size >= capacity * QUEUE_FACTOR;

  /** As of the earliest position that allows a choice, so that the choice does not depend on when it is made. */
  function chooseNext(latest: number): Entry | null {
    for (let at = Math.max(asOf, order.length - 1 - lookBack(order.length)); at <= latest; at += 1) {
      const entry = sampling.choose(at);
      if (entry === null) continue;
      asOf = at;
      order.push(entry);
      if (unstarted.delete(entry.key) && isClosed(entry.template)) closed -= 1;
      return entry;
    }
    return null;
  }

  return {
    add(address, { depth, from, parent, isExcluded }) {
      const { key } = address;
      if (named.size < NAMED_MAX) named.add(key);
      if (known.has(key) || left.has(key)) return 'known';
      const template = templateFor(address);
      const chain = parent?.template === template ? parent.chain + 1 : 0;
      if (chain <= CHAIN_MAX && isFull(template)) return leave(key);
      if (isExcluded?.() === true) return 'excluded';
      known.add(key);
      if (chain > CHAIN_MAX) return 'endless';
      unstarted.add(key);
      sampling.add({ address, key, depth, chain, template, from, chosen: false });
      return 'queued';
    },
    named: (key) => named.size >= NAMED_MAX || named.has(key),
    cover(key) {
      known.add(key);
      covered.add(key);
      left.delete(key);
      unstarted.delete(key);
    },
    covered: (key) => covered.has(key),
    choose(latest) {
      for (;;) {
        const entry = chooseNext(latest);
        // A page that was covered in the meantime keeps its position and is passed over.
        if (entry === null || !covered.has(entry.key)) return entry;
      }
    },
    asOf: () => asOf,
    chosen: () => order.length,
    at: (position) => order[position],
    record(position, folded) {
      const template = order[position]?.template;
      if (template === undefined) return;
      template.folded = folded ? template.folded + 1 : 0;
      if (template.folded < FOLDED_IN_A_ROW || isClosed(template)) return;
      template.closedAt = position;
      closed += template.entries.filter(({ key }) => unstarted.has(key)).length;
    },
    waiting: () => Math.max(0, unstarted.size - closed),
    left: () => unstarted.size + left.size,
  };
}

const isClosed = ({ closedAt }: Template): boolean => Number.isFinite(closedAt);

/** Templates by their keys, and addresses that were left. */
function createRegister() {
  const left = new Set<string>();
  const templates = new Map<string, Template>();
  return {
    left,
    templateFor(address: PageAddress): Template {
      const key = templateOf(address);
      let template = templates.get(key);
      if (template === undefined) templates.set(key, (template = newTemplate()));
      return template;
    },
    leave(key: string): 'left' {
      if (left.size < LEFT_MAX) left.add(key);
      return 'left';
    },
  };
}
