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
  /** `grant:<id>`, `reserve:<scan>`, `settle:<scan>`. */
  id: string;
  operation: 'grant' | 'reserve' | 'settle';
  scanId: string | null;
  /** Pages granted, held, or spent. */
  pages: number;
  /** For `settle`: pages that were held and released. */
  released: number;
  /** The credits that could be reserved after it. */
  balance: number;
  /** Its number among the operations of the account, from 1, without gaps. Its time may be earlier than that of the one before, if clocks differ. */
  sequence: number;
  at: Date;
  /** True if it is in the ledger. */
  relayed: boolean;
}

/** The decision of the last operation on an account. */
export interface Answer {
  outcome: 'done' | 'repeated' | 'settled' | 'late' | 'too_many' | 'insufficient' | 'unknown';
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
  /** The number of operations ever made. */
  sequence: number;
  answer?: Answer;
}

export function emptyAccount(): Omit<Account, '_id'> {
  return { granted: 0, available: 0, spent: 0, held: {}, grants: [], ops: [], sequence: 0 };
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

const NEXT_SEQUENCE = { $add: [{ $ifNull: ['$sequence', 0] }, 1] };

/** An operation to record. `pages`, `released` and `balance` are MongoDB expressions. */
function entry(operation: Operation['operation'], key: string, amounts: { pages: unknown; released: unknown; balance: unknown }): Document {
  return {
    id: { $literal: `${operation}:${key}` },
    operation: { $literal: operation },
    scanId: { $literal: operation === 'grant' ? null : key },
    ...amounts,
    sequence: NEXT_SEQUENCE,
    at: '$$NOW',
    relayed: { $literal: false },
  };
}

/** The fields that record an operation. */
const remember = (operation: Document): Document => ({
  ops: ifDone({ $concatArrays: [KEPT, [operation]] }, KEPT),
  sequence: ifDone(NEXT_SEQUENCE, { $ifNull: ['$sequence', 0] }),
});

/** Adds `pages` once per grant id. */
export function grantStep(grantId: string, pages: number): Document[] {
  const balance = { $add: ['$available', pages] };
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
        available: ifDone(balance, '$available'),
        grants: ifDone({ $concatArrays: ['$grants', [{ $literal: grantId }]] }, '$grants'),
        ...remember(entry('grant', grantId, { pages: { $literal: pages }, released: { $literal: 0 }, balance })),
      },
    },
  ];
}

/** What limits a reserve besides the balance. */
export interface ReserveBounds {
  partial: boolean;
  deadline: Date;
  /** The maximum number of scans of the account that hold credits. */
  maxHolds: number;
}

/**
 * Holds `pages` for a scan; with `partial`, as many as are available. The checks run in this order. A settled scan is rejected, and
 * a repeat returns the existing hold. A late request and one above `maxHolds` are rejected. Otherwise the balance decides.
 */
export function reserveStep(scanId: string, pages: number, { partial, deadline, maxHolds }: ReserveBounds): Document[] {
  const held = { $ifNull: [`$held.${scanId}`, 0] };
  const settled = { $in: [`settle:${scanId}`, '$ops.id'] };
  const tooMany = { $gte: [{ $size: { $objectToArray: '$held' } }, maxHolds] };
  const affordable = { $gte: ['$available', partial ? 1 : pages] };
  const balance = { $subtract: ['$available', '$answer.pages'] };
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
                  {
                    $cond: [
                      { $gt: ['$$NOW', deadline] },
                      'late',
                      { $cond: [tooMany, 'too_many', { $cond: [affordable, 'done', 'insufficient'] }] },
                    ],
                  },
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
        available: ifDone(balance, '$available'),
        held: ifDone({ $mergeObjects: ['$held', { [scanId]: '$answer.pages' }] }, '$held'),
        ...remember(entry('reserve', scanId, { pages: '$answer.pages', released: { $literal: 0 }, balance })),
      },
    },
  ];
}

/** Spends at most `pages` of a scan's hold and releases the rest. For a settled scan, `answer.pages` is what was spent. */
export function settleStep(scanId: string, pages: number): Document[] {
  const held = { $ifNull: [`$held.${scanId}`, 0] };
  const rest = { $subtract: [held, '$answer.pages'] };
  const balance = { $add: ['$available', rest] };
  const wasSettled = { $in: [`settle:${scanId}`, '$ops.id'] };
  const earlier = {
    $reduce: { input: '$ops', initialValue: 0, in: { $cond: [{ $eq: ['$$this.id', `settle:${scanId}`] }, '$$this.pages', '$$value'] } },
  };
  const others = { $arrayToObject: { $filter: { input: { $objectToArray: '$held' }, as: 'hold', cond: { $ne: ['$$hold.k', scanId] } } } };
  return [
    {
      $set: {
        answer: {
          outcome: { $cond: [{ $gt: [held, 0] }, 'done', { $cond: [wasSettled, 'settled', 'unknown'] }] },
          pages: { $cond: [{ $lte: [held, 0] }, earlier, { $cond: [{ $lt: [held, pages] }, held, { $literal: pages }] }] },
          released: { $cond: [{ $lt: [held, pages] }, 0, { $subtract: [held, pages] }] },
        },
      },
    },
    {
      $set: {
        available: ifDone(balance, '$available'),
        spent: ifDone({ $add: ['$spent', '$answer.pages'] }, '$spent'),
        ...remember(entry('settle', scanId, { pages: '$answer.pages', released: rest, balance })),
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

/**
 * The guarded updates of the accounts of public scans and test keys. They need no credits: each reserve grants what it holds, and
 * each settle takes back what was not spent, so that `available + Σheld + spent = granted` stays true. Their holds count the live
 * scans. Nothing is recorded in the ledger: no page shows it for these accounts, and it would grow with every visitor. The account is
 * created by its first reserve.
 */
const INITIAL = Object.fromEntries(
  Object.entries(emptyAccount()).map(([field, value]) => [field, { $ifNull: [`$${field}`, { $literal: value }] }]),
);

/** Holds `pages` for a scan, unless it holds some or `maxHolds` scans do. */
export function freeReserveStep(scanId: string, pages: number, maxHolds: number): Document[] {
  const held = { $ifNull: [`$held.${scanId}`, 0] };
  const isFull = { $gte: [{ $size: { $objectToArray: '$held' } }, maxHolds] };
  return [
    { $set: INITIAL },
    {
      $set: {
        answer: {
          outcome: { $cond: [{ $gt: [held, 0] }, 'repeated', { $cond: [isFull, 'too_many', 'done'] }] },
          pages: { $cond: [{ $gt: [held, 0] }, held, { $literal: pages }] },
        },
      },
    },
    {
      $set: {
        granted: { $cond: [{ $eq: ['$answer.outcome', 'done'] }, { $add: ['$granted', pages] }, '$granted'] },
        held: { $cond: [{ $eq: ['$answer.outcome', 'done'] }, { $mergeObjects: ['$held', { [scanId]: { $literal: pages } }] }, '$held'] },
      },
    },
  ];
}

/** Ends the hold of a scan: at most `pages` are spent. */
export function freeSettleStep(scanId: string, pages: number): Document[] {
  const held = { $ifNull: [`$held.${scanId}`, 0] };
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
        granted: { $subtract: ['$granted', '$answer.released'] },
        spent: { $add: ['$spent', '$answer.pages'] },
        held: others,
      },
    },
  ];
}
