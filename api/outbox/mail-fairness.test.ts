import { expect } from 'chai';
import fc from 'fast-check';
import { MAIL_PRIORITIES, type MailPriority } from '../../stores/outbox/outbox.ts';
import { claimOrder, CONCURRENCY, CONNECTIONS, LOWEST_FIRST_EVERY, PER_DOMAIN, PER_ORGANISATION, type InFlight } from './mail-transport.ts';

const mail = (lane: MailPriority, domain: string, organisation?: string): InFlight => ({ lane, domain, organisation });
const lanesOf = (inFlight: readonly InFlight[], claims = 0) => [...new Set(claimOrder(inFlight, claims).map(({ lane }) => lane))];

describe('the order of mails', () => {
  it('is by lane, and each fourth claim begins with the lowest one', () => {
    expect([0, 1, 2, 3, 4].map((claims) => lanesOf([], claims)[0])).to.deep.equal(['account', 'account', 'account', 'public', 'account']);
    expect(lanesOf([])).to.deep.equal(MAIL_PRIORITIES);
    expect(lanesOf([], 3)).to.deep.equal(MAIL_PRIORITIES.toReversed());
  });

  it('leaves connections for the lanes above', () => {
    const results = Array.from({ length: CONNECTIONS.public }, (_, n) => mail('public', `${n}.example`));
    expect(lanesOf(results)).to.deep.equal(['account', 'organisation']);
    const invitations = [5, 6].map((n) => mail('organisation', `${n}.example`, `${n}`));
    expect(lanesOf([...results, ...invitations])).to.deep.equal(['account']);
    expect(lanesOf([...results, ...invitations, mail('account', 'a.example')])).to.deep.equal([]);
    expect(lanesOf(invitations)).to.deep.equal(MAIL_PRIORITIES);
  });

  it('passes over domains and organisations that have their share, and prefers organisations without a mail in delivery', () => {
    const inFlight = [mail('public', 'big.example'), mail('organisation', 'big.example', 'acme'), mail('organisation', 'b.example', 'acme'), mail('organisation', 'c.example', 'acme'), mail('organisation', 'd.example', 'b')]; // prettier-ignore
    expect(claimOrder(inFlight, 0)).to.deep.equal([
      { lane: 'account', exceptDomains: [] },
      { lane: 'organisation', exceptDomains: ['big.example'], exceptOrganisations: ['acme', 'b'] },
      { lane: 'organisation', exceptDomains: ['big.example'], exceptOrganisations: ['acme'] },
      { lane: 'public', exceptDomains: ['big.example'] },
    ]);
    expect(claimOrder([...inFlight, mail('account', 'big.example')], 0)[0]).to.deep.equal({
      lane: 'account',
      exceptDomains: ['big.example'],
    });
  });

  describe('of any outbox', () => {
    const waiting = fc.record({
      lane: fc.constantFrom(...MAIL_PRIORITIES),
      domain: fc.constantFrom('a.example', 'b.example', 'c.example', 'd.example', 'e.example'),
      organisation: fc.constantFrom('acme', 'b', 'c'),
    });
    /** Delivers an outbox. `hangs`: deliveries to this domain never end. */
    function deliver(mails: readonly InFlight[], hangs: string | null): InFlight[] {
      const [outbox, inFlight, claimed] = [[...mails], [] as InFlight[], [] as InFlight[]];
      for (;;) {
        const filter = claimOrder(inFlight, claimed.length);
        const next = filter.flatMap(({ lane, exceptDomains = [], exceptOrganisations = [] }) => {
          const found = outbox.find(
            (one) =>
              one.lane === lane &&
              !exceptDomains.includes(one.domain) &&
              (one.organisation === undefined || !exceptOrganisations.includes(one.organisation)),
          );
          return found ?? [];
        })[0];
        if (next !== undefined) {
          outbox.splice(outbox.indexOf(next), 1);
          inFlight.push(next);
          claimed.push(next);
          expect(inFlight.length).to.be.at.most(CONCURRENCY);
          for (const { domain } of inFlight) expect(inFlight.filter((one) => one.domain === domain).length).to.be.at.most(PER_DOMAIN + 1);
          const ofOrganisations = inFlight.filter(({ lane }) => lane === 'organisation').map(({ organisation }) => organisation);
          for (const one of ofOrganisations) expect(ofOrganisations.filter((name) => name === one).length).to.be.at.most(PER_ORGANISATION);
          continue;
        }
        const ended = inFlight.findIndex(({ domain }) => domain !== hangs);
        if (ended === -1) return claimed;
        inFlight.splice(ended, 1);
      }
    }
    const inLanes = (mails: readonly { lane: MailPriority; domain: string; organisation: string }[]): InFlight[] =>
      mails.map(({ lane, domain, organisation }) => mail(lane, domain, lane === 'organisation' ? organisation : undefined));

    it('delivers the mails of an organisation to other domains while two of its mails hang', () => {
      const mails = [
        mail('organisation', 'a.example', 'b'),
        mail('organisation', 'a.example', 'b'),
        mail('organisation', 'c.example', 'b'),
      ];
      expect(deliver(mails, 'a.example')).to.deep.equal(mails);
    });

    it('delivers every mail, and those to other domains while one domain hangs', () => {
      fc.assert(
        fc.property(fc.array(waiting, { maxLength: 60 }), fc.constantFrom(null, 'a.example'), (mails, hangs) => {
          const all = inLanes(mails);
          const claimed = deliver(all, hangs);
          expect(claimed).to.include.members(all.filter(({ domain }) => domain !== hangs));
        }),
      );
    });

    it('starves no lane: while results wait, at least each fourth claim is one', () => {
      const flood = [...Array.from({ length: 60 }, (_, n) => mail('account', `${n}.example`)), ...Array.from({ length: 10 }, (_, n) => mail('public', `p${n}.example`))]; // prettier-ignore
      const order = deliver(flood, null).map(({ lane }) => lane);
      for (let n = 0; n < 10; n += 1)
        expect(order.slice(n * LOWEST_FIRST_EVERY, (n + 1) * LOWEST_FIRST_EVERY).filter((lane) => lane === 'public')).to.have.length(1);
    });
  });
});
