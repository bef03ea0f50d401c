/** The addresses that a scan has found: which are known, which wait, and which is chosen next. Bounded. Pure. */
import { templateOf } from '../../core/scan/site.ts';
import type { PageAddress } from './address.ts';

/**
 * What became of an address: `queued`, `known` before, or `excluded` by the scan. It is `endless` if the site leads from one such
 * address to the next, and `left` if more of them cannot be started.
 */
export type Added = 'queued' | 'known' | 'endless' | 'excluded' | 'left';

/**
 * The number of positions that a choice looks back, about the largest number of workers (core/protocol/pod-messages.ts). The pages
 * before are processed when the choice is made, whatever the number of workers. The first choices look back a little, to see the
 * templates that the first pages lead to. Later ones look back further, so that the other workers go on for as long as possible
 * while one page is slow. Bounded, because results are kept until their turn.
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
/** A template is left after this many pages in a row were left out, because it shows the same under any number of addresses. */
const LEFT_OUT_IN_A_ROW = 10;

/**
 * @param capacity the number of pages that may start; more addresses of one template cannot be chosen
 * @param inOrder the addresses are chosen in the order in which they were added, whatever their templates
 */
export function createQueue(capacity: number, inOrder = false) {
  const sampling = createSampling(inOrder);
  const { templateFor, left, leave } = createRegister();
  const known = new Set<string>();
  const covered = new Set<string>();
  const named = new Set<string>();
  const unstarted = new Set<string>();
  /** Those of which a spelling was visited and led nowhere. */
  const tried = new Set<string>();
  const spellings = new Map<string, Spellings>();
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

  function enqueue(address: PageAddress, { depth, from, chain = 0 }: Found & { chain?: number }): void {
    const { key } = address;
    unstarted.add(key);
    sampling.add({ address, key, depth, chain, template: templateFor(address), from, chosen: false });
  }

  /** Remembers another spelling of a known address. @returns whether it is queued, because all before have failed */
  function respelled(address: PageAddress, found: Found & { isExcluded?: () => boolean }): boolean {
    const spelled = spellings.get(address.key);
    if (spelled === undefined || spelled.hrefs.length === SPELLINGS_MAX || spelled.hrefs.includes(address.href)) return false;
    if (found.isExcluded?.() === true) return false;
    spelled.hrefs.push(address.href);
    if (!spelled.failed) spelled.next.push({ address, depth: found.depth });
    return spelled.failed && tryNext(spelled, address, found);
  }

  function tryNext(spelled: Spellings, address: PageAddress, found: Found): boolean {
    spelled.failed = false;
    if (isFull(templateFor(address))) return false;
    covered.delete(address.key);
    enqueue(address, found);
    return true;
  }

  /** Marks a page as known, so that it is not chosen. */
  function cover(key: string): void {
    known.add(key);
    covered.add(key);
    left.delete(key);
    unstarted.delete(key);
    spellings.delete(key);
  }

  return {
    /**
     * @param found.parent the page on which the address was found, if it was found on a page; `from` is its position
     * @param found.isExcluded called only for an address that would be queued, because rules take time
     */
    add(address: PageAddress, { depth, from, parent, isExcluded }: Found & { parent?: Entry; isExcluded?: () => boolean }): Added {
      const { key } = address;
      if (named.size < NAMED_MAX) named.add(key);
      if (known.has(key)) return respelled(address, { depth, from, isExcluded }) ? 'queued' : 'known';
      if (left.has(key)) return 'known';
      const template = templateFor(address);
      const chain = parent?.template === template ? parent.chain + 1 : 0;
      if (chain <= CHAIN_MAX && isFull(template)) return leave(key);
      if (isExcluded?.() === true) return 'excluded';
      known.add(key);
      if (chain > CHAIN_MAX) return 'endless';
      enqueue(address, { depth, from, chain });
      if (spellings.size < SPELLED_MAX) spellings.set(key, { hrefs: [address.href], next: [], failed: false });
      return 'queued';
    },
    /** Whether a link, a sitemap or the scan named a page; true if too many were named to know. */
    named: (key: string): boolean => named.size >= NAMED_MAX || named.has(key),
    cover,
    /** Queues the next spelling of an address that leads nowhere, or covers it until another one is found. @param from its position */
    respell(key: string, from: number): void {
      const spelled = spellings.get(key);
      const next = spelled?.next.shift();
      cover(key);
      tried.add(key);
      if (spelled === undefined) return;
      spellings.set(key, spelled);
      if (next === undefined) spelled.failed = true;
      else tryNext(spelled, next.address, { depth: next.depth, from });
    },
    /** Whether a spelling of an address was visited and led nowhere. */
    tried: (key: string): boolean => tried.has(key),
    covered: (key: string): boolean => covered.has(key),
    /** Chooses the entry of the next position; null if there is none before the pages up to a position are processed. */
    choose(latest: number): Entry | null {
      for (;;) {
        const entry = chooseNext(latest);
        // A page that was covered in the meantime keeps its position and is passed over.
        if (entry === null || !covered.has(entry.key)) return entry;
      }
    },
    /** The position up to which the last choice looked. Everything up to there was processed, whatever the number of workers. */
    asOf: (): number => asOf,
    /** The number of positions. */
    chosen: (): number => order.length,
    at: (position: number): Entry | undefined => order[position],
    /** Records whether the page of a position was left out. */
    record(position: number, leftOut: boolean): void {
      const template = order[position]?.template;
      if (template === undefined) return;
      template.leftOut = leftOut ? template.leftOut + 1 : 0;
      if (inOrder || template.leftOut < LEFT_OUT_IN_A_ROW || isClosed(template)) return;
      template.closedAt = position;
      closed += template.entries.filter(({ key, chosen }) => !chosen && unstarted.has(key)).length;
    },
    /** The number of addresses that may still be chosen. */
    waiting: (): number => Math.max(0, unstarted.size - closed),
    /** The number of addresses that were found and not chosen in any spelling. */
    left: (): number => unstarted.difference(tried).size + left.size,
  };
}

/** The number of spellings of an address that are tried, and of addresses whose spellings are remembered. */
const SPELLINGS_MAX = 3;
const SPELLED_MAX = 100_000;

/** Where an address was found. */
interface Found {
  depth: number;
  from: number;
}

/** The spellings of an address. One stands for the others only when the site has answered it. */
interface Spellings {
  hrefs: string[];
  /** Those that are tried if the ones before fail. */
  next: { address: PageAddress; depth: number }[];
  /** Whether all that were found until now have failed. */
  failed: boolean;
}

const isClosed = ({ closedAt }: Template): boolean => Number.isFinite(closedAt);

/** Templates by their keys, and addresses that were left. */
function createRegister() {
  const left = new Set<string>();
  const templates = new Map<string, Template>();
  return {
    left,
    templateFor(address: PageAddress): Template {
      // Each host has templates of its own: keys begin with it.
      const key = address.key.slice(0, address.key.indexOf('/')) + templateOf(address);
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

/*
 * The order in which the pages of a site are taken: every second page is the next one breadth first. The others come from the
 * templates in turn, so that a few pages of a large site show as many of its templates as possible.
 *
 * Pages are found while others are in progress, and how many are depends on the number of workers. So each choice is made as of a
 * position: it sees only what was found and closed up to there.
 */

interface Entry {
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
interface Template {
  entries: Entry[];
  /** The index of the first entry that may not be chosen yet. */
  next: number;
  chosen: number;
  /** The number of pages that were left out since the last one that was tested. */
  leftOut: number;
  /** The position from which no more of its entries are chosen. */
  closedAt: number;
}

const newTemplate = (): Template => ({ entries: [], next: 0, chosen: 0, leftOut: 0, closedAt: Number.POSITIVE_INFINITY });

function createSampling(inOrder: boolean) {
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
    add(entry: Entry): void {
      queue.push(entry);
      entry.template.entries.push(entry);
      templates.add(entry.template);
    },
    /** Chooses the next entry as of a position, or returns null. Positions must not decrease. */
    choose(asOf: number): Entry | null {
      const entry = turn % 2 === 0 && !inOrder ? byTemplate(asOf) : breadthFirst(asOf);
      if (entry === null) return null;
      turn += 1;
      entry.chosen = true;
      entry.template.chosen += 1;
      return entry;
    },
  };
}
