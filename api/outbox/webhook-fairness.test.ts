import { expect } from 'chai';
import fc from 'fast-check';
import { addFailing, claimOrder, CONCURRENCY, FAILING_KNOWN_MAX, FAILING_MAX, PER_ORGANISATION, PER_WEBHOOK } from './webhook-transport.ts';
import type { InFlight } from './delivery-loop.ts';

const at = (webhook: string, organisation = `o-${webhook}`): InFlight => ({ priority: 'webhook', fairnessKey: webhook, organisation });
const many = (count: number, prefix = 'w') => Array.from({ length: count }, (_, index) => at(`${prefix}${index}`));
const NONE = new Set<string>();

/** Whether a delivery may start. */
const mayStart = (inFlight: readonly InFlight[], failing: ReadonlySet<string>, one: InFlight): boolean =>
  claimOrder(inFlight, failing, 0).some(
    ({ onlyKeys, exceptKeys = [], exceptOrganisations = [] }) =>
      (onlyKeys?.includes(one.fairnessKey) ?? true) &&
      !exceptKeys.includes(one.fairnessKey) &&
      !exceptOrganisations.includes(one.organisation!),
  );

describe('fairness of webhooks', () => {
  it('looks first for endpoints and organisations without a delivery under way', () => {
    const [first] = claimOrder([at('a', 'acme')], NONE, 0);
    expect(first).to.deep.equal({ priority: 'webhook', exceptKeys: ['a'], exceptOrganisations: ['acme'] });
  });

  it('leaves connections for endpoints that work, however many fail', () => {
    const busy = many(FAILING_MAX);
    const failing = new Set([...busy.map(({ fairnessKey }) => fairnessKey), 'another']);
    expect(mayStart(busy, failing, at('another'))).to.equal(false);
    expect(mayStart(busy, failing, at('works'))).to.equal(true);
    expect(mayStart(busy.slice(1), failing, at('another'))).to.equal(true);
  });

  it('tries an endpoint that fails with one delivery at a time', () => {
    expect(mayStart([at('a')], new Set(['a']), at('a'))).to.equal(false);
    expect(mayStart([], new Set(['a']), at('a'))).to.equal(true);
  });

  it('tries the endpoint that failed last after the others, and forgets the first ones of very many', () => {
    const failing = new Set(['a', 'b', 'c']);
    addFailing(failing, 'a');
    expect(claimOrder([], failing, 3)[0]!.onlyKeys).to.deep.equal(['b', 'c', 'a']);
    for (let more = 0; more < FAILING_KNOWN_MAX; more += 1) addFailing(failing, `w${more}`);
    expect(failing.size).to.equal(FAILING_KNOWN_MAX);
    expect(failing.has('a')).to.equal(false);
  });

  it('begins every fourth time with the endpoints that fail', () => {
    const first = [0, 1, 2, 3, 4].map((claims) => claimOrder([], new Set(['a']), claims)[0]!.onlyKeys);
    expect(first).to.deep.equal([undefined, undefined, undefined, ['a'], undefined]);
  });

  it('never has more than the limits under way', () =>
    fc.assert(
      fc.property(fc.array(fc.record({ webhook: fc.integer({ min: 0, max: 40 }), failing: fc.boolean() }), { maxLength: 120 }), (steps) => {
        const inFlight: InFlight[] = [];
        const failing = new Set<string>();
        for (const step of steps) {
          const one = at(`w${step.webhook}`, `o${step.webhook % 10}`);
          if (step.failing) failing.add(one.fairnessKey);
          if (mayStart(inFlight, failing, one)) inFlight.push(one);
          const count = (is: (other: InFlight) => boolean) => inFlight.filter(is).length;
          expect(inFlight.length).to.be.at.most(CONCURRENCY);
          expect(count(({ fairnessKey }) => fairnessKey === one.fairnessKey)).to.be.at.most(PER_WEBHOOK);
          expect(count(({ organisation }) => organisation === one.organisation)).to.be.at.most(PER_ORGANISATION);
        }
      }),
    ));
});
