/**
 * The guarded updates of an account: pure builders of MongoDB update pipelines. Each decides, moves and remembers in one
 * atomic step by the server's clock, and leaves what it decided in `answer`, which is read from the very same operation.
 */
import type { Document } from 'mongodb';

/** How long the account itself remembers that a scan was settled; from then on the ledger does. */
export const REMEMBERED_MS = 3 * 60_000;
/** The farthest deadline that a reserve may have: a minute within the memory, for clocks that differ. */
export const FARTHEST_DEADLINE_MS = 2 * 60_000;

/** An operation as the account remembers it. */
export interface Operation {
  id: string;
  operation: 'grant' | 'reserve' | 'settle';
  scanId: string | null;
  pages: number;
  released: number;
  at: Date;
  /** True once it is in the ledger. */
  relayed: boolean;
}

/** What the last operation on an account decided. */
export interface Answer {
  outcome: 'done' | 'repeated' | 'settled' | 'late' | 'insufficient' | 'unknown';
  pages: number;
  /** Of a settle: pages that were held and given back. */
  released?: number;
}

/** One organisation's account. `available + Σheld + spent = granted`, always. */
export interface Account {
  _id: string;
  granted: number;
  available: number;
  spent: number;
  held: Record<string, number>;
  /** Every grant there ever was: an id is granted once, for ever. */
  grants: string[];
  ops: Operation[];
  answer?: Answer;
}

/** A new account. */
export function emptyAccount(): Omit<Account, '_id'> {
  return { granted: 0, available: 0, spent: 0, held: {}, grants: [], ops: [] };
}

/** A scan id names a field of `held`, and must not reach into another. */
export function checkScanId(scanId: string): void {
  if (!/^[A-Za-z0-9-]{1,64}$/.test(scanId)) throw new RangeError(`a scan id is letters, digits and dashes, not ${JSON.stringify(scanId)}`);
}

/** A number of pages is a whole number that MongoDB keeps exactly. */
export function checkPages(pages: number, least: number): void {
  if (!Number.isSafeInteger(pages) || pages < least)
    throw new RangeError(`a number of credits is a whole number from ${least}, not ${pages}`);
}

const DONE = { $eq: ['$answer.outcome', 'done'] };
const ifDone = (then: unknown, otherwise: unknown): Document => ({ $cond: [DONE, then, otherwise] });

/**
 * The operations still to be remembered. One that is in the ledger may be forgotten at once (a repeated reserve meets the
 * hold, a repeated grant its id), but for a settle: it is what refuses a reserve that was on its way meanwhile.
 */
const KEPT = {
  $filter: {
    input: '$ops',
    as: 'op',
    cond: {
      $or: [
        { $eq: ['$$op.relayed', false] },
        { $and: [{ $eq: ['$$op.operation', 'settle'] }, { $gte: ['$$op.at', { $subtract: ['$$NOW', REMEMBERED_MS] }] }] },
      ],
    },
  },
};

/** An operation to remember; `pages` and `released` are expressions. */
function entry(operation: Operation['operation'], key: string, pages: unknown, released: unknown): Document {
  return {
    id: { $literal: `${operation}:${key}` },
    operation: { $literal: operation },
    scanId: { $literal: operation === 'grant' ? null : key },
    pages,
    released,
    at: '$$NOW',
    relayed: { $literal: false },
  };
}

const remember = (operation: Document): Document => ifDone({ $concatArrays: [KEPT, [operation]] }, KEPT);

/** Adds `pages` once for each grant id. */
export function grantStep(grantId: string, pages: number): Document[] {
  return [
    {
      $set: {
        answer: {
          outcome: { $cond: [{ $in: [{ $literal: grantId }, '$grants'] }, 'repeated', 'done'] },
          pages: { $literal: pages },
        },
      },
    },
    {
      $set: {
        granted: ifDone({ $add: ['$granted', pages] }, '$granted'),
        available: ifDone({ $add: ['$available', pages] }, '$available'),
        grants: ifDone({ $concatArrays: ['$grants', [{ $literal: grantId }]] }, '$grants'),
        ops: remember(entry('grant', grantId, { $literal: pages }, { $literal: 0 })),
      },
    },
  ];
}

/**
 * Holds `pages` for a scan, or as many as there are. In this order: what was settled cannot be held again, a repeat gets
 * what is held, a late request nothing, and the rest what the balance allows.
 */
export function reserveStep(scanId: string, pages: number, partial: boolean, deadline: Date): Document[] {
  const held = { $ifNull: [`$held.${scanId}`, 0] };
  const settled = { $in: [`settle:${scanId}`, '$ops.id'] };
  const affordable = { $gte: ['$available', partial ? 1 : pages] };
  return [
    {
      $set: {
        answer: {
          outcome: {
            $cond: [
              settled,
              'settled',
              {
                $cond: [
                  { $gt: [held, 0] },
                  'repeated',
                  { $cond: [{ $gt: ['$$NOW', deadline] }, 'late', { $cond: [affordable, 'done', 'insufficient'] }] },
                ],
              },
            ],
          },
          pages: { $cond: [{ $gt: [held, 0] }, held, { $cond: [{ $lt: ['$available', pages] }, '$available', { $literal: pages }] }] },
        },
      },
    },
    {
      $set: {
        available: ifDone({ $subtract: ['$available', '$answer.pages'] }, '$available'),
        held: ifDone({ $mergeObjects: ['$held', { [scanId]: '$answer.pages' }] }, '$held'),
        ops: remember(entry('reserve', scanId, '$answer.pages', { $literal: 0 })),
      },
    },
  ];
}

/** Spends at most `pages` of what a scan holds, and gives the rest back. */
export function settleStep(scanId: string, pages: number): Document[] {
  const held = { $ifNull: [`$held.${scanId}`, 0] };
  const rest = { $subtract: [held, '$answer.pages'] };
  const others = { $arrayToObject: { $filter: { input: { $objectToArray: '$held' }, as: 'hold', cond: { $ne: ['$$hold.k', scanId] } } } };
  return [
    {
      $set: {
        answer: {
          outcome: { $cond: [{ $gt: [held, 0] }, 'done', 'unknown'] },
          pages: { $cond: [{ $lt: [held, pages] }, held, { $literal: pages }] },
          released: { $cond: [{ $lt: [held, pages] }, 0, { $subtract: [held, pages] }] },
        },
      },
    },
    {
      $set: {
        available: ifDone({ $add: ['$available', rest] }, '$available'),
        spent: ifDone({ $add: ['$spent', '$answer.pages'] }, '$spent'),
        ops: remember(entry('settle', scanId, '$answer.pages', rest)),
        held: ifDone(others, '$held'),
      },
    },
  ];
}

/** Marks operations that are in the ledger now. */
export function relayedStep(ids: readonly string[]): Document[] {
  const marked = { $mergeObjects: ['$$op', { relayed: { $or: ['$$op.relayed', { $in: ['$$op.id', { $literal: ids }] }] } }] };
  return [{ $set: { ops: { $map: { input: '$ops', as: 'op', in: marked } } } }];
}
