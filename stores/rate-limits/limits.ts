/** Sliding-window limits that hold over any number of replicas: a sliding log in one document a policy and subject, one atomic update by the store's clock. */
import { randomUUID } from 'node:crypto';
import type { Db, Document } from 'mongodb';
import { dependencyIsDown } from '../availability.ts';
import { admission, stateOf, type LogReading } from './limit-state.ts';
import { createLocalLimits } from './local-limits.ts';
import { retryRace } from '../mongo-retry.ts';

export interface LimitRule {
  /** Name in `RateLimit-Policy`: `key`, `submissions`, `reports`, `key-creations`. */
  policy: string;
  /** Whom it counts: a key id, an organisation id. */
  subject: string;
  limit: number;
  windowSeconds: number;
}

export interface LimitState {
  policy: string;
  limit: number;
  windowSeconds: number;
  remaining: number;
  /** Seconds until one more request is accepted (0 where one is now). Rounded up. */
  resetSeconds: number;
}

export interface LimitDecision {
  allowed: boolean;
  states: LimitState[];
  /** Set where not allowed: a request sent so many seconds later is accepted. */
  retryAfterSeconds: number | null;
}

export interface Limits {
  /** Counts one request against every rule, in order; where one denies, those before it are given back and nothing is consumed. */
  admit(rules: readonly LimitRule[]): Promise<LimitDecision>;
}

/** The log of one policy and subject: the accepted requests of the last window, each with an id by which it can be given back. */
interface LogDocument {
  _id: string;
  hits: { at: Date; id: string }[];
  answer: { taken: boolean; used: number; oldest: Date | null; now: Date };
  expiresAt: Date;
}

/** Drops what left the window, counts the request if there is room (and `take`), and says how things stand: one atomic step by the server's clock. */
function countStep(rule: LimitRule, id: string, take: boolean): Document[] {
  const windowMs = rule.windowSeconds * 1000;
  const inWindow = { $gte: ['$$hit.at', { $subtract: ['$$NOW', windowMs] }] };
  const room = { $lt: [{ $size: '$hits' }, rule.limit] };
  return [
    { $set: { hits: { $filter: { input: { $ifNull: ['$hits', []] }, as: 'hit', cond: inWindow } } } },
    { $set: { answer: { taken: take ? room : { $literal: false }, now: '$$NOW' }, expiresAt: { $add: ['$$NOW', windowMs + 60_000] } } },
    { $set: { hits: { $cond: ['$answer.taken', { $concatArrays: ['$hits', [{ at: '$$NOW', id: { $literal: id } }]] }, '$hits'] } } },
    { $set: { 'answer.used': { $size: '$hits' }, 'answer.oldest': { $min: '$hits.at' } } },
  ];
}

/** After a failure the store is left alone for so long: waiting for it would hold up every request. */
const STORE_REST_MS = 1_000;

/**
 * Limits shared by all replicas through MongoDB. While it is down they fail open: each replica goes on counting by itself.
 * @param options.onFallback is told of each admission that was counted locally, for a metric
 */
export function createLimits(
  db: Db,
  { onFallback = () => undefined, now = Date.now }: { onFallback?: (error: unknown) => void; now?: () => number } = {},
): Limits {
  const logs = db.collection<LogDocument>('limits');
  const local = createLocalLimits(now);
  let resting: { until: number; reason: unknown } = { until: 0, reason: null };
  const keyOf = (rule: LimitRule): string => `${rule.policy}/${rule.subject}`;

  async function count(rule: LimitRule, id: string, take: boolean): Promise<LogReading> {
    const document = await retryRace(() =>
      logs.findOneAndUpdate({ _id: keyOf(rule) }, countStep(rule, id, take), {
        upsert: true,
        returnDocument: 'after',
        projection: { answer: 1 },
      }),
    );
    const { taken, used, oldest, now: at } = document!.answer;
    return { taken, used, oldest: oldest?.getTime() ?? null, now: at.getTime() };
  }

  async function admit(rules: readonly LimitRule[]): Promise<LimitDecision> {
    const id = randomUUID();
    const states: LimitState[] = [];
    let denied = false;
    for (const rule of rules) {
      const reading = await count(rule, id, !denied);
      const state = stateOf(rule, reading);
      if (!denied && !reading.taken) {
        denied = true;
        // What the rules before this one counted is given back.
        for (const [index, earlier] of rules.slice(0, states.length).entries()) {
          await logs.updateOne({ _id: keyOf(earlier) }, { $pull: { hits: { id } } });
          states[index] = { ...states[index]!, remaining: states[index]!.remaining + 1, resetSeconds: 0 };
        }
      }
      states.push(state);
    }
    return admission(!denied, states);
  }

  return {
    async admit(rules) {
      if (now() >= resting.until) {
        try {
          return await admit(rules);
        } catch (error) {
          if (!dependencyIsDown(error)) throw error;
          resting = { until: now() + STORE_REST_MS, reason: error };
        }
      }
      onFallback(resting.reason);
      return local.admit(rules);
    },
  };
}
