import { expect } from 'chai';
import type { FastifyRequest } from 'fastify';
import { makeKey } from '../../../stores/accounts/key-format.ts';
import { decisionOf, type RateLimitRule } from '../../../stores/rate-limits.ts';
import { createDenials } from './denials.ts';

const RULE: RateLimitRule = { policy: 'key', subject: 'k', limit: 60, windowSeconds: 60 };
const REQUEST = {
  headers: { 'x-api-key': makeKey((count) => new Uint8Array(count)) },
  routeOptions: { config: {} },
} as unknown as FastifyRequest;

describe('denials in memory', () => {
  let now: number;
  const remembered = (resetSeconds: number) => {
    now = 0;
    const denials = createDenials(() => now);
    const decision = decisionOf(false, [{ policy: 'key', limit: 60, windowSeconds: 60, remaining: 0, resetSeconds }]);
    if (!decision.ok) denials.remember(REQUEST, [RULE], decision);
    return (at: number): (number | undefined)[] => {
      now = at;
      return [denials.ofKey(REQUEST)?.retryAfterSeconds, denials.ofRules([RULE])?.retryAfterSeconds];
    };
  };

  it('say how long the limit still denies', () => {
    const find = remembered(60);
    expect(find(0)).to.deep.equal([60, 60]);
    expect(find(1500)).to.deep.equal([59, 59]);
  });

  it('are forgotten when the limit accepts a request again', () => {
    const find = remembered(2);
    expect(find(1999)).to.deep.equal([1, 1]);
    expect(find(2000)).to.deep.equal([undefined, undefined]);
  });

  it('are asked for again after 5 s, because the limit may deny because of a request that it then gives back', () => {
    const find = remembered(60);
    expect(find(4999)).to.deep.equal([56, 56]);
    expect(find(5000)).to.deep.equal([undefined, undefined]);
  });
});
