import { expect } from 'chai';
import { randomUUID } from 'node:crypto';
import { poolIsExhausted } from '../../stores/availability.ts';
import { connectMongo } from '../../stores/mongo.ts';
import { createRateLimits, type RateLimitRule } from '../../stores/rate-limits.ts';
import { monitored, recordCommands } from '../support/mongo-commands.ts';
import { withOptions } from '../support/databases.ts';
import { silentLogger } from '../support/silent-logger.ts';
import { useDatabase, useStore } from './database.ts';

describe('rate limits across replicas', () => {
  // A burst waits for a free connection as long as a loaded machine needs.
  const database = useDatabase({ waitQueueTimeoutMS: '0' });
  const limits = useStore(database, createRateLimits);

  const rule = (over: Partial<RateLimitRule> = {}): RateLimitRule => ({
    policy: 'key',
    subject: randomUUID(),
    limit: 3,
    windowSeconds: 60,
    ...over,
  });
  const logs = () => database.db.collection<{ _id: string; hits: { at: Date; id: string }[] }>('limits');
  /** Makes every request of a log older. */
  async function age({ policy, subject }: RateLimitRule, milliseconds: number): Promise<void> {
    const log = (await logs().findOne({ _id: `${policy}/${subject}` }))!;
    const hits = log.hits.map((hit) => ({ ...hit, at: new Date(hit.at.getTime() - milliseconds) }));
    await logs().updateOne({ _id: log._id }, { $set: { hits } });
  }

  async function denial(rules: RateLimitRule[]) {
    const decision = await limits.admit(rules);
    if (decision.ok) throw new Error('the request was accepted');
    return decision;
  }

  it('takes back the request that a refund names, and no other', async () => {
    const rules = [rule(), rule({ policy: 'submissions' })];
    for (const hit of ['a', 'b', 'c']) await limits.admit(rules, { hit });
    await limits.refund(rules, 'b');
    await limits.refund(rules, 'b');
    expect((await limits.admit(rules)).states.map(({ remaining }) => remaining)).to.deep.equal([0, 0]);
    await denial(rules);
  });

  it('counts down, then denies with retryAfterSeconds', async () => {
    const one = rule();
    for (const remaining of [2, 1, 0]) {
      const decision = await limits.admit([one]);
      expect([decision.ok, decision.states[0]!.remaining]).to.deep.equal([true, remaining]);
      expect(decision).to.not.have.property('retryAfterSeconds');
    }
    await age(one, 20_000);
    const denied = await denial([one]);
    expect(denied.retryAfterSeconds).to.be.within(20, 41);
    expect(denied.states).to.deep.equal([
      { policy: 'key', limit: 3, windowSeconds: 60, remaining: 0, resetSeconds: denied.retryAfterSeconds },
    ]);
  });

  it('accepts a request after Retry-After, and denies one two seconds earlier', async () => {
    const one = rule();
    for (let n = 0; n < 3; n += 1) await limits.admit([one]);
    await age(one, 12_345);
    const { retryAfterSeconds } = await denial([one]);
    await age(one, (retryAfterSeconds - 2) * 1000);
    expect((await limits.admit([one])).ok).to.equal(false);
    await age(one, 2000);
    expect((await limits.admit([one])).ok).to.equal(true);
  });

  it('consumes nothing for a denied request', async () => {
    const one = rule();
    for (let n = 0; n < 10; n += 1) await limits.admit([one]);
    expect((await logs().findOne({ _id: `key/${one.subject}` }))!.hits).to.have.length(3);
  });

  it('uncounts a request from the first rule if the second denies it, and reports both states', async () => {
    const [first, second] = [rule({ limit: 10 }), rule({ policy: 'submissions', limit: 1 })];
    await limits.admit([first, second]);
    for (let n = 0; n < 3; n += 1) {
      const denied = await limits.admit([first, second]);
      expect(denied.ok).to.equal(false);
      expect(denied.states.map(({ policy, remaining }) => [policy, remaining])).to.deep.equal([
        ['key', 9],
        ['submissions', 0],
      ]);
    }
    expect((await limits.admit([first])).states[0]!.remaining).to.equal(8);
  });

  it('counts nothing against the second rule if the first denies, and reports both states', async () => {
    const [first, second] = [rule({ limit: 1 }), rule({ policy: 'submissions', limit: 5 })];
    await limits.admit([first, second]);
    const denied = await limits.admit([first, second]);
    expect(denied.states.map((state) => state.remaining)).to.deep.equal([0, 4]);
    expect((await limits.admit([second])).states[0]!.remaining).to.equal(3);
  });

  it('never accepts more than 60 in any window over all replicas', async () => {
    const clients = [limits, createRateLimits(database.another()), createRateLimits(database.another())];
    const one = rule({ limit: 60, windowSeconds: 1 });
    const accepted: string[] = [];
    const ends = Date.now() + 1_300;
    let allowed = 0;
    await Promise.all(
      clients.flatMap((client) =>
        Array.from({ length: 4 }, async () => {
          while (Date.now() < ends) {
            if ((await client.admit([one])).ok) allowed += 1;
            // The times that the server stored, not those at which the answers arrived.
            const hits = (await logs().findOne({ _id: `key/${one.subject}` }))!.hits;
            accepted.push(...hits.map(({ at, id }) => `${at.getTime()} ${id}`));
          }
        }),
      ),
    );
    const times = [...new Set(accepted)].map((hit) => Number(hit.split(' ')[0])).sort((a, b) => a - b);
    expect(times.length).to.be.above(60);
    expect(times.length).to.equal(allowed);
    for (const [index, time] of times.entries()) {
      const next = times[index + 60];
      if (next !== undefined) expect(next - time).to.be.above(1000);
    }
  });

  it('counts a burst of 200 requests from two replicas exactly', async () => {
    const [a, b] = [limits, createRateLimits(database.another())];
    const one = rule({ limit: 60 });
    const answers = await Promise.all(Array.from({ length: 200 }, (_, n) => (n % 2 === 0 ? a : b).admit([one])));
    expect(answers.filter((answer) => answer.ok)).to.have.length(60);
  });

  it('reads, but does not write, the rules after one that denies', async () => {
    const mongo = connectMongo({ url: monitored(database.url), logger: silentLogger });
    const counted = createRateLimits(mongo.db);
    const [first, second] = [rule({ limit: 1 }), rule({ policy: 'submissions', limit: 1, windowSeconds: 600 })];
    await counted.admit([first, second]);
    const commands = recordCommands(mongo.db);
    const denied = await counted.admit([first, second]);
    expect(commands).to.deep.equal(['findAndModify limits', 'aggregate limits']);
    // 601 if both requests are in the same millisecond: the window includes its first one, and seconds are rounded up.
    expect(denied.ok ? 0 : denied.retryAfterSeconds, 'that of the slower rule').to.be.within(500, 601);
    await mongo.close();
  });

  it('fails instead of counting locally if the pool has no free connection', async () => {
    const url = withOptions(database.url, { maxPoolSize: '1', waitQueueTimeoutMS: '1' });
    const mongo = connectMongo({ url, logger: silentLogger });
    const fallbacks: unknown[] = [];
    const busy = createRateLimits(mongo.db, { onFallback: (error) => fallbacks.push(error) });
    const one = rule({ limit: 5 });
    const outcomes = await Promise.allSettled(Array.from({ length: 200 }, () => busy.admit([one])));
    const failed = outcomes.filter((outcome) => outcome.status === 'rejected');
    expect(failed.length).to.be.above(0);
    expect(failed.every(({ reason }) => poolIsExhausted(reason))).to.equal(true);
    expect(outcomes.filter((outcome) => outcome.status === 'fulfilled' && outcome.value.ok).length).to.be.at.most(5);
    expect(fallbacks).to.deep.equal([]);
    await mongo.close();
  });

  it('fails open while the database is down: counts locally and calls onFallback', async () => {
    const unavailable = connectMongo({ url: 'mongodb://127.0.0.1:1/?serverSelectionTimeoutMS=50', logger: silentLogger });
    const fallbacks: unknown[] = [];
    const lost = createRateLimits(unavailable.db, { onFallback: (error) => fallbacks.push(error) });
    const one = rule();
    const answers = [];
    for (let n = 0; n < 4; n += 1) answers.push((await lost.admit([one])).ok);
    expect(answers).to.deep.equal([true, true, true, false]);
    expect(fallbacks).to.have.length(4);
    expect(fallbacks[0]).to.be.instanceOf(Error);
    await unavailable.close();
  });
});
