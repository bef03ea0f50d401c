/**
 * Sliding-window limits that hold across any number of replicas. One document per policy and subject has a log of the accepted
 * requests, updated in one atomic step by the database server's clock.
 */
import { randomUUID } from 'node:crypto';
import type { Db, Document } from 'mongodb';
import { dependencyIsDown, poolIsExhausted } from './availability.ts';
import { retryRace } from './mongo-retry.ts';
import { BoundedMap } from '../platform/concurrency/bounded-map.ts';

export interface RateLimitRule {
  /** Name in `RateLimit-Policy`: `key`, `submissions`, `reports`, `key-creations`. */
  policy: string;
  /** What is counted: a key id or an organisation id. */
  subject: string;
  limit: number;
  windowSeconds: number;
}

/** The log that a rule counts in. */
export type RateLimitLog = Pick<RateLimitRule, 'policy' | 'subject'>;

/** A request that was counted, so that it can be taken back later, also by another process. */
export interface CountedRequest {
  hit: string;
  logs: readonly RateLimitLog[];
}

export interface RateLimitState {
  policy: string;
  limit: number;
  windowSeconds: number;
  remaining: number;
  /** Seconds until one more request is accepted, rounded up; 0 if one is accepted now. */
  resetSeconds: number;
}

export type RateLimitDecision =
  | { ok: true; states: RateLimitState[] }
  /** A request sent `retryAfterSeconds` later is accepted. */
  | { ok: false; reason: 'rate_limited'; states: RateLimitState[]; retryAfterSeconds: number };

export interface RateLimits {
  /**
   * Counts one request against every rule, in order. If one rule denies it, nothing is consumed from any of them.
   * @param options.hit names the request for a refund
   */
  admit(rules: readonly RateLimitRule[], options?: { hit?: string }): Promise<RateLimitDecision>;
  /** Takes back a request that was admitted as `hit`, because it was refused for another reason. Idempotent. */
  refund(logs: readonly RateLimitLog[], hit: string): Promise<void>;
}

/** The state of a rule's log of accepted requests at one moment. Times in milliseconds, of one clock. */
interface LogReading {
  /** Whether the current request was counted. */
  taken: boolean;
  /** Requests in the window, including the one just counted. */
  used: number;
  /** The oldest of them; null if there is none. */
  oldest: number | null;
  now: number;
}

/**
 * The state of one rule. A request leaves the window one millisecond after the window's length: clocks count whole
 * milliseconds, so only then is the window certainly over.
 */
function stateOf(rule: RateLimitRule, { used, oldest, now }: Omit<LogReading, 'taken'>): RateLimitState {
  const { policy, limit, windowSeconds } = rule;
  const remaining = Math.max(0, limit - used);
  const wait = remaining > 0 || oldest === null ? 0 : Math.max(1, Math.ceil((oldest + windowSeconds * 1000 + 1 - now) / 1000));
  return { policy, limit, windowSeconds, remaining, resetSeconds: wait };
}

/** The decision over all rules. A denied request may be repeated when the slowest rule accepts one again. */
export function decisionOf(allowed: boolean, states: RateLimitState[]): RateLimitDecision {
  if (allowed) return { ok: true, states };
  return { ok: false, reason: 'rate_limited', states, retryAfterSeconds: Math.max(...states.map((state) => state.resetSeconds)) };
}

/** With more subjects than this, the one that was not used for the longest time is forgotten. */
const SUBJECTS_MAX = 10_000;

/** The same limits in the memory of one process, used while the shared store is down. */
export function createLocalLimits(monotonic = () => performance.now()): RateLimits {
  const logs = new BoundedMap<{ at: number; hit: string | undefined }[]>({ max: SUBJECTS_MAX });
  const keyOf = (rule: RateLimitLog): string => `${rule.policy}/${rule.subject}`;

  /** The requests of a rule that are still inside its window. */
  function logOf(rule: RateLimitRule, at: number) {
    const key = keyOf(rule);
    const windowMs = rule.windowSeconds * 1000;
    const requests = (logs.get(key) ?? []).filter((request) => at - request.at <= windowMs);
    logs.set(key, requests);
    return requests;
  }

  return {
    admit(rules, { hit } = {}) {
      const at = monotonic();
      const counted = rules.map((rule) => ({ rule, requests: logOf(rule, at) }));
      const allowed = counted.every(({ rule, requests }) => requests.length < rule.limit);
      const states = counted.map(({ rule, requests }) => {
        if (allowed) requests.push({ at, hit });
        return stateOf(rule, { used: requests.length, oldest: requests[0]?.at ?? null, now: at });
      });
      return Promise.resolve(decisionOf(allowed, states));
    },

    async refund(rules, hit) {
      for (const rule of rules) {
        const requests = logs.get(keyOf(rule));
        if (requests !== null)
          logs.set(
            keyOf(rule),
            requests.filter((request) => request.hit !== hit),
          );
      }
    },
  };
}

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
