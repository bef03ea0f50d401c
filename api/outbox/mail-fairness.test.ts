import { expect } from 'chai';
import fc from 'fast-check';
import { MAIL_PRIORITIES, type MailPriority } from '../../stores/outbox/mails.ts';
import type { InFlight } from './delivery-loop.ts';
import { claimOrder, CONCURRENCY, CONNECTIONS, LOWEST_FIRST_EVERY, PER_DOMAIN, PER_ORGANISATION } from './mail-transport.ts';

const mail = (priority: MailPriority, fairnessKey: string, organisation?: string): InFlight => ({ priority, fairnessKey, organisation });
const prioritiesOf = (inFlight: readonly InFlight[], claims = 0) => [
  ...new Set(claimOrder(inFlight, claims).map(({ priority }) => priority)),
];

describe('the order of mails', () => {
  it('is by priority, and each fourth claim begins with the lowest one', () => {
    expect([0, 1, 2, 3, 4].map((claims) => prioritiesOf([], claims)[0])).to.deep.equal([
      'account',
      'account',
      'account',
      'public',
      'account',
    ]);
    expect(prioritiesOf([])).to.deep.equal(MAIL_PRIORITIES);
    expect(prioritiesOf([], 3)).to.deep.equal(MAIL_PRIORITIES.toReversed());
  });

  it('leaves connections for the priorities above', () => {
    const results = Array.from({ length: CONNECTIONS.public }, (_, n) => mail('public', `${n}.example`));
    expect(prioritiesOf(results)).to.deep.equal(['account', 'organisation']);
    const invitations = [5, 6].map((n) => mail('organisation', `${n}.example`, `${n}`));
    expect(prioritiesOf([...results, ...invitations])).to.deep.equal(['account']);
    expect(prioritiesOf([...results, ...invitations, mail('account', 'a.example')])).to.deep.equal([]);
    expect(prioritiesOf(invitations)).to.deep.equal(MAIL_PRIORITIES);
  });

  it('passes over domains and organisations that have their share, and prefers organisations without a mail in delivery', () => {
    const inFlight = [mail('public', 'big.example'), mail('organisation', 'big.example', 'acme'), mail('organisation', 'b.example', 'acme'), mail('organisation', 'c.example', 'acme'), mail('organisation', 'd.example', 'b')]; // prettier-ignore
    expect(claimOrder(inFlight, 0)).to.deep.equal([
      { priority: 'account', exceptKeys: [] },
      { priority: 'organisation', exceptKeys: ['big.example'], exceptOrganisations: ['acme', 'b'] },
      { priority: 'organisation', exceptKeys: ['big.example'], exceptOrganisations: ['acme'] },
      { priority: 'public', exceptKeys: ['big.example'] },
    ]);
    expect(claimOrder([...inFlight, mail('account', 'big.example')], 0)[0]).to.deep.equal({
      priority: 'account',
      exceptKeys: ['big.example'],
    });
  });

  describe('of any outbox', () => {
    const waiting = fc.record({
      priority: fc.constantFrom(...MAIL_PRIORITIES),
      domain: fc.constantFrom('a.example', 'b.example', 'c.example', 'd.example', 'e.example'),
      organisation: fc.constantFrom('acme', 'b', 'c'),
    });
    /** Delivers an outbox. `hangs`: deliveries to this domain never end. */
    function deliver(mails: readonly InFlight[], hangs: string | null): InFlight[] {
      const [outbox, inFlight, claimed] = [[...mails], [] as InFlight[], [] as InFlight[]];
      for (;;) {
        const filter = claimOrder(inFlight, claimed.length);
        const next = filter.flatMap(({ priority, exceptKeys = [], exceptOrganisations = [] }) => {
          const found = outbox.find(
            (one) =>
              one.priority === priority &&
              !exceptKeys.includes(one.fairnessKey) &&
              (one.organisation === undefined || !exceptOrganisations.includes(one.organisation)),
          );
          return found ?? [];
        })[0];
        if (next !== undefined) {
          outbox.splice(outbox.indexOf(next), 1);
          inFlight.push(next);
          claimed.push(next);
          expect(inFlight.length).to.be.at.most(CONCURRENCY);
          for (const { fairnessKey } of inFlight)
            expect(inFlight.filter((one) => one.fairnessKey === fairnessKey).length).to.be.at.most(PER_DOMAIN + 1);
          const ofOrganisations = inFlight.filter(({ priority }) => priority === 'organisation').map(({ organisation }) => organisation);
          for (const one of ofOrganisations) expect(ofOrganisations.filter((name) => name === one).length).to.be.at.most(PER_ORGANISATION);
          continue;
        }
        const ended = inFlight.findIndex(({ fairnessKey }) => fairnessKey !== hangs);
        if (ended === -1) return claimed;
        inFlight.splice(ended, 1);
      }
    }
    const inPriorities = (mails: readonly { priority: MailPriority; domain: string; organisation: string }[]): InFlight[] =>
      mails.map(({ priority, domain, organisation }) => mail(priority, domain, priority === 'organisation' ? organisation : undefined));

    it('delivers every mail, and those to other domains while one domain hangs', () => {
      fc.assert(
        fc.property(fc.array(waiting, { maxLength: 60 }), fc.constantFrom(null, 'a.example'), (mails, hangs) => {
          const all = inPriorities(mails);
          const claimed = deliver(all, hangs);
          expect(claimed).to.include.members(all.filter(({ fairnessKey }) => fairnessKey !== hangs));
        }),
      );
    });

    it('starves no priority: while results wait, at least each fourth claim is one', () => {
      const flood = [...Array.from({ length: 60 }, (_, n) => mail('account', `${n}.example`)), ...Array.from({ length: 10 }, (_, n) => mail('public', `p${n}.example`))]; // prettier-ignore
      const order = deliver(flood, null).map(({ priority }) => priority);
      for (let n = 0; n < 10; n += 1)
        expect(
          order.slice(n * LOWEST_FIRST_EVERY, (n + 1) * LOWEST_FIRST_EVERY).filter((priority) => priority === 'public'),
        ).to.have.length(1);
    });
  });
});
