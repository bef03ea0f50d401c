/**
 * The guarded updates of an account: pure builders of MongoDB update pipelines. Each pipeline decides, moves credits and
 * records the operation in one atomic step, by the server's clock. It stores its decision in `answer`, which the caller
 * reads from the result of the same operation.
 */
import type { Document } from 'mongodb';

/** How long the account itself records that a scan was settled. Older settles are only in the ledger. */
export const REMEMBERED_MS = 3 * 60_000;
/** The farthest deadline of a reserve. It is a minute shorter than `REMEMBERED_MS`, because clocks may differ. */
export const FARTHEST_DEADLINE_MS = 2 * 60_000;

/** An operation as the account records it. */
export interface Operation {
  id: string;
  operation: 'grant' | 'reserve' | 'settle';
  scanId: string | null;
  pages: number;
  released: number;
  at: Date;
  /** True if it is in the ledger. */
  relayed: boolean;
}

/** The decision of the last operation on an account. */
export interface Answer {
  outcome: 'done' | 'repeated' | 'settled' | 'late' | 'insufficient' | 'unknown';
  pages: number;
  /** For a settle: pages that were held and released. */
  released?: number;
}

/** One organisation's account. Invariant: `available + Σheld + spent = granted`. */
export interface Account {
  _id: string;
  granted: number;
  available: number;
  spent: number;
  held: Record<string, number>;
  /** The ids of all grants ever made, because an id must never be granted twice. */
  grants: string[];
  ops: Operation[];
  answer?: Answer;
}

export function emptyAccount(): Omit<Account, '_id'> {
  return { granted: 0, available: 0, spent: 0, held: {}, grants: [], ops: [] };
}

/** Rejects a scan id that would address another field, because the id is a field name in `held`. @throws RangeError */
export function checkScanId(scanId: string): void {
  if (!/^[A-Za-z0-9-]{1,64}$/.test(scanId))
    throw new RangeError(`a scan id consists of letters, digits and dashes, not ${JSON.stringify(scanId)}`);
}

/** Rejects a number of pages that MongoDB does not store exactly. @throws RangeError */
export function checkPages(pages: number, least: number): void {
  if (!Number.isSafeInteger(pages) || pages < least)
    throw new RangeError(`the number of credits must be an integer of at least ${least}, not ${pages}`);
}

const DONE = { $eq: ['$answer.outcome', 'done'] };
const ifDone = (then: unknown, otherwise: unknown): Document => ({ $cond: [DONE, then, otherwise] });

/**
 * The operations that the account keeps. A grant or reserve is removed as soon as it is in the ledger, because `grants` and
 * `held` detect a repeat. A settle is kept for longer: it rejects a reserve of the same scan that is still in flight.
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

/** An operation to record. `pages` and `released` are MongoDB expressions. */
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

/** Adds `pages` once per grant id. */
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
 * Holds `pages` for a scan; with `partial`, as many as are available. The checks run in this order: a settled scan is
 * rejected, a repeat returns the existing hold, a late request is rejected, and otherwise the balance decides.
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

/** Spends at most `pages` of a scan's hold and releases the rest. */
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

/** Marks operations as copied to the ledger. */
export function relayedStep(ids: readonly string[]): Document[] {
  const marked = { $mergeObjects: ['$$op', { relayed: { $or: ['$$op.relayed', { $in: ['$$op.id', { $literal: ids }] }] } }] };
  return [{ $set: { ops: { $map: { input: '$ops', as: 'op', in: marked } } } }];
}
