/**
 * The guarded updates of the accounts of public scans and test keys. They need no credits: each reserve grants what it holds, and
 * each settle takes back what was not spent, so that `available + Σheld + spent = granted` stays true. Their holds count the live
 * scans. Nothing is recorded in the ledger: no page shows it for these accounts, and it would grow with every visitor.
 */
import type { Document } from 'mongodb';
import { emptyAccount } from './credit-steps.ts';

/** The account is created by its first reserve. */
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
