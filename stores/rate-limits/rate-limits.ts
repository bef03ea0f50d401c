/**
 * Sliding-window limits that hold across any number of replicas: one document per policy and subject holds a log of the
 * accepted requests, updated in one atomic step by the database server's clock.
 */
import { randomUUID } from 'node:crypto';
import type { Db, Document } from 'mongodb';
import { dependencyIsDown, poolIsExhausted } from '../availability.ts';
import { retryRace } from '../mongo-retry.ts';
import { createLocalLimits } from './local-limits.ts';
import {
  decisionOf,
  stateOf,
  type LogReading,
  type RateLimitDecision,
  type RateLimitLog,
  type RateLimitRule,
  type RateLimits,
  type RateLimitState,
} from './sliding-window.ts';

/** The log of one policy and subject: the accepted requests of the last window, each with an id so that it can be removed. */
interface LogDocument {
  _id: string;
  hits: { at: Date; id: string }[];
  answer: { taken: boolean; used: number; oldest: Date | null; now: Date };
  expiresAt: Date;
}

/** Removes requests that left the window, counts this one if the limit allows it, and stores the result in `answer`. */
function countStep(rule: RateLimitRule, id: string): Document[] {
  const room = { $lt: [{ $size: '$hits' }, rule.limit] };
  return [
    { $set: { hits: hitsInWindow(rule) } },
    { $set: { answer: { taken: room, now: '$$NOW' }, expiresAt: { $add: ['$$NOW', rule.windowSeconds * 1000 + 60_000] } } },
    { $set: { hits: { $cond: ['$answer.taken', { $concatArrays: ['$hits', [{ at: '$$NOW', id: { $literal: id } }]] }, '$hits'] } } },
    { $set: { 'answer.used': { $size: '$hits' }, 'answer.oldest': { $min: '$hits.at' } } },
  ];
}

function hitsInWindow({ windowSeconds }: RateLimitRule): Document {
  const inWindow = { $gte: ['$$hit.at', { $subtract: ['$$NOW', windowSeconds * 1000] }] };
  return { $filter: { input: { $ifNull: ['$hits', []] }, as: 'hit', cond: inWindow } };
}

/** How long the store is not queried after a failure, because waiting for it would delay every request. In milliseconds. */
const STORE_REST_MS = 1_000;

/**
 * Limits that all replicas share through MongoDB. While it is down they fail open: each replica counts on its own.
 * @param options.onFallback called for each request that was counted locally, for a metric
 */
export function createRateLimits(db: Db, { onFallback = () => undefined }: { onFallback?: (error: unknown) => void } = {}): RateLimits {
  const logs = db.collection<LogDocument>('limits');
  const local = createLocalLimits();
  let resting: { until: number; cause: unknown } = { until: 0, cause: null };
  const keyOf = (rule: RateLimitLog): string => `${rule.policy}/${rule.subject}`;

  async function count(rule: RateLimitRule, id: string): Promise<LogReading> {
    const document = await retryRace(() =>
      logs.findOneAndUpdate({ _id: keyOf(rule) }, countStep(rule, id), {
        upsert: true,
        returnDocument: 'after',
        projection: { answer: 1 },
      }),
    );
    const { taken, used, oldest, now: at } = document!.answer;
    return { taken, used, oldest: oldest?.getTime() ?? null, now: at.getTime() };
  }

  /** Reads a rule's log without counting a request. */
  async function read(rule: RateLimitRule): Promise<RateLimitState> {
    const [log] = await logs
      .aggregate<{ used: number; oldest: Date | null; now: Date }>([
        { $match: { _id: keyOf(rule) } },
        { $project: { hits: hitsInWindow(rule) } },
        { $project: { used: { $size: '$hits' }, oldest: { $min: '$hits.at' }, now: '$$NOW' } },
      ])
      .toArray();
    return stateOf(rule, { used: log?.used ?? 0, oldest: log?.oldest?.getTime() ?? null, now: log?.now.getTime() ?? 0 });
  }

  async function admitShared(rules: readonly RateLimitRule[], id: string): Promise<RateLimitDecision> {
    const states: RateLimitState[] = [];
    for (const [index, rule] of rules.entries()) {
      const reading = await count(rule, id);
      states.push(stateOf(rule, reading));
      if (reading.taken) continue;
      // A denied request consumes nothing: remove it from the rules before this one.
      for (const [before, earlier] of rules.slice(0, index).entries()) {
        await logs.updateOne({ _id: keyOf(earlier) }, { $pull: { hits: { id } } });
        states[before] = { ...states[before]!, remaining: states[before]!.remaining + 1, resetSeconds: 0 };
      }
      // The rules after it may deny for longer, which Retry-After must say.
      for (const later of rules.slice(index + 1)) states.push(await read(later));
      return decisionOf(false, states);
    }
    return decisionOf(true, states);
  }

  return {
    async admit(rules, { hit = randomUUID() } = {}) {
      if (performance.now() >= resting.until) {
        try {
          return await admitShared(rules, hit);
        } catch (error) {
          // Under load the limits must hold: counting locally would let each replica accept the whole limit.
          if (!dependencyIsDown(error) || poolIsExhausted(error)) throw error;
          resting = { until: performance.now() + STORE_REST_MS, cause: error };
        }
      }
      onFallback(resting.cause);
      return local.admit(rules, { hit });
    },

    async refund(rules, hit) {
      await local.refund(rules, hit);
      for (const rule of rules) await logs.updateOne({ _id: keyOf(rule) }, { $pull: { hits: { id: hit } } });
    },
  };
}
