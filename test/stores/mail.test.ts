import { expect } from 'chai';
import { randomUUID } from 'node:crypto';
import { domainOf } from '../../core/email-address.ts';
import { ADDRESS_KEPT_DAYS, ENTRY_KEPT_DAYS, MAIL_PRIORITIES, resultMailId, type NewMail } from '../../stores/outbox/mails.ts';
import { createOutbox, type Claim } from '../../stores/outbox/outbox.ts';
import { BOUNCE_STOPS, createSuppressions, LINK_KEPT_DAYS } from '../../stores/outbox/suppressions.ts';
import type { MailEntry } from '../../stores/outbox/entries.ts';
import { findMail } from '../support/find-mail.ts';
import { useDatabase } from './database.ts';

const START = new Date('2054-11-01T12:00:00Z');
const DAY = 86_400_000;
const LEASE_MS = 60_000;
const resultFor = (to: string): NewMail => {
  const scanId = randomUUID();
  return { id: resultMailId(scanId), kind: 'scan_result', to, locale: 'de', data: { scanId } };
};

/** A claimed mail as it was queued. */
function mailOf(claim: Claim | null): NewMail {
  const { _id: id, kind, to, locale, organisation, data } = claim!.entry as MailEntry;
  return { id, kind, to, locale, ...(organisation !== undefined && { organisation }), data } as NewMail;
}

describe('mail stores', () => {
  const database = useDatabase();
  let now = START;
  const clock = { now: () => now };
  const pass = (ms: number) => void (now = new Date(now.getTime() + ms));
  beforeEach(async () => {
    now = START;
    for (const name of ['outbox', 'mail_addresses']) await database.db.collection(name).deleteMany({});
  });

  describe('outbox', () => {
    const outbox = () => createOutbox(database.db, clock);

    it('stores a mail once by its id, whatever became of it', async () => {
      const mail = resultFor('ada@example.com');
      await Promise.all([outbox().enqueue(mail), createOutbox(database.another(), clock).enqueue({ ...mail, to: 'other@example.com' })]);
      const claim = await outbox().claim({}, LEASE_MS);
      expect(claim?.entry._id).to.equal(mail.id);
      await outbox().end(claim!, 'delivered', {});
      await outbox().enqueue(mail);
      expect(await findMail(database.db, mail.id)).to.include({ state: 'delivered', attempts: 1, reason: null });
      expect(await outbox().claim({}, LEASE_MS)).to.equal(null);
    });

    it('gives a due mail to exactly one of many claims, the oldest first', async () => {
      const mails = [resultFor('a@example.com'), resultFor('b@example.com'), resultFor('c@example.com')];
      for (const mail of mails) {
        await outbox().enqueue(mail);
        pass(1000);
      }
      const replicas = [outbox(), createOutbox(database.another(), clock)];
      expect(mailOf(await outbox().claim({}, LEASE_MS))).to.deep.equal(mails[0]);
      const claims = await Promise.all(Array.from({ length: 8 }, (_, index) => replicas[index % 2]!.claim({}, LEASE_MS)));
      expect(claims.filter((claim) => claim !== null).map(({ entry }) => entry._id)).to.have.members([mails[1]!.id, mails[2]!.id]);
    });

    it('passes over the domains that the caller names', async () => {
      await outbox().enqueue(resultFor('a@SLOW.example'));
      await outbox().enqueue(resultFor('b@fast.example'));
      expect(mailOf(await outbox().claim({ exceptKeys: ['slow.example'] }, LEASE_MS)).to).to.equal('b@fast.example');
      expect(await outbox().claim({ exceptKeys: ['slow.example'] }, LEASE_MS)).to.equal(null);
      expect(domainOf('"odd@local"@Example.COM')).to.equal('example.com');
    });

    it('claims the mails of a priority, and passes over the organisations that the caller names', async () => {
      const data = { organisation: 'Acme', invitedBy: 'ada@example.com', url: 'https://x.example', expiresAt: '2054-11-08T12:00:00Z' };
      const inviteFor = (organisation: string, n: number): NewMail =>
        ({ id: `invitation:${organisation}${n}`, kind: 'invitation', organisation, to: `${n}@${organisation}.example`, locale: 'en', data }); // prettier-ignore
      const [result, first, second, other] = [resultFor('a@example.com'), inviteFor('acme', 1), inviteFor('acme', 2), inviteFor('b', 1)];
      for (const mail of [result, first, second, other]) {
        await outbox().enqueue(mail);
        pass(1000);
      }
      expect(await outbox().claim({ priority: 'account' }, LEASE_MS)).to.equal(null);
      expect(mailOf(await outbox().claim({ priority: 'organisation' }, LEASE_MS))).to.deep.equal(first);
      expect(mailOf(await outbox().claim({ priority: 'organisation', exceptOrganisations: ['acme'] }, LEASE_MS))).to.deep.equal(other);
      expect(await outbox().claim({ priority: 'organisation', exceptOrganisations: ['acme'] }, LEASE_MS)).to.equal(null);
      expect((await outbox().claim({ priority: 'public', exceptOrganisations: ['acme'] }, LEASE_MS))?.entry._id).to.equal(result.id);
      expect((await outbox().claim({}, LEASE_MS))?.entry._id).to.equal(second.id);
    });

    it('gives a mail to another claim when the lease has ended, and then ignores the first one', async () => {
      const mail = resultFor('ada@example.com');
      await outbox().enqueue(mail);
      const first = (await outbox().claim({}, LEASE_MS))!;
      pass(59_999);
      expect(await outbox().claim({}, LEASE_MS)).to.equal(null);
      pass(1);
      const second = (await outbox().claim({}, LEASE_MS))!;
      expect(second.entry.attempts).to.equal(2);
      for (const late of [
        outbox().end(first, 'delivered', {}),
        outbox().retry(first, now, { error: 'late' }),
        outbox().release(first),
        outbox().end(first, 'failed', { error: 'late' }),
      ])
        expect(await late).to.equal(false);
      expect(await outbox().end(first, 'suppressed', { error: 'bounced' })).to.equal(false);
      expect(await outbox().end(second, 'delivered', {})).to.equal(true);
      expect(await outbox().end(second, 'delivered', {}), 'twice').to.equal(false);
    });

    it('makes a mail due again later with the reason, or as if it had not been claimed', async () => {
      const mail = resultFor('ada@example.com');
      await outbox().enqueue(mail);
      const first = (await outbox().claim({}, LEASE_MS))!;
      expect(await outbox().retry(first, new Date(START.getTime() + 120_000), { error: '451 try later' })).to.equal(true);
      pass(119_999);
      expect(await outbox().claim({}, LEASE_MS)).to.equal(null);
      expect(await findMail(database.db, mail.id)).to.include({ state: 'waiting', attempts: 1, reason: '451 try later' });
      pass(1);
      const dueSince = now;
      pass(900_000);
      const second = (await outbox().claim({}, LEASE_MS))!;
      expect([mailOf(second), second.entry.attempts, second.dueAt]).to.deep.equal([mail, 2, dueSince]);
      expect(await outbox().release(second)).to.equal(true);
      expect(await outbox().oldestDue(MAIL_PRIORITIES), 'the time that it waits for the mail server').to.deep.equal(dueSince);
      const third = (await outbox().claim({}, LEASE_MS))!;
      expect(third.entry.attempts).to.equal(2);
      // The replies of earlier attempts may name the recipient.
      expect(await outbox().end(third, 'delivered', { error: null })).to.equal(true);
      const stored = await database.db.collection<MailEntry>('outbox').findOne({ _id: mail.id });
      expect(stored!.log.map(({ error }) => error)).to.deep.equal([null]);
    });

    it('records why a mail was not sent, and removes its links at once and its address after some weeks', async () => {
      const url = 'https://curbcut.example.com/dashboard/invitation/secret-token';
      const data = { organisation: 'Acme', invitedBy: 'ada@example.com', url, expiresAt: '2054-11-08T12:00:00Z' };
      const invitation: NewMail = { id: 'invitation:1', kind: 'invitation', to: 'grace@example.com', locale: 'en', data };
      await outbox().enqueue(invitation);
      expect(await outbox().end((await outbox().claim({}, LEASE_MS))!, 'failed', { error: '550 no such user' })).to.equal(true);
      const bounced = resultFor('grace@example.com');
      await outbox().enqueue(bounced);
      expect(await outbox().end((await outbox().claim({}, LEASE_MS))!, 'suppressed', { error: 'bounced' })).to.equal(true);
      const waiting = resultFor('grace@example.com');
      await outbox().enqueue(waiting);

      expect(await findMail(database.db, 'invitation:1')).to.deep.include({ state: 'failed', reason: '550 no such user' });
      expect(await findMail(database.db, bounced.id)).to.deep.include({ state: 'suppressed', reason: 'bounced' });
      expect(JSON.stringify(await database.db.collection('outbox').find().toArray())).not.to.include('secret-token');

      pass(ADDRESS_KEPT_DAYS * DAY - 1);
      expect(await outbox().removeAddresses()).to.equal(0);
      pass(1);
      expect(await outbox().removeAddresses()).to.equal(2);
      expect(await outbox().removeAddresses()).to.equal(0);
      expect((await findMail(database.db, bounced.id))?.to).to.equal(null);
      expect((await findMail(database.db, waiting.id))?.to).to.equal('grace@example.com');
      const stored = await database.db.collection('outbox').find({ state: { $ne: 'waiting' } }).toArray(); // prettier-ignore
      expect(JSON.stringify(stored)).not.to.include('grace').and.not.to.include('example.com');
      for (const { expiresAt } of stored) expect(expiresAt).to.deep.equal(new Date(START.getTime() + ENTRY_KEPT_DAYS * DAY));
    });

    it('reports since when the oldest unclaimed mail is due', async () => {
      expect(await outbox().oldestDue(MAIL_PRIORITIES)).to.equal(null);
      await outbox().enqueue(resultFor('a@example.com'));
      pass(5000);
      await outbox().enqueue(resultFor('b@example.com'));
      expect(await outbox().oldestDue(MAIL_PRIORITIES)).to.deep.equal(START);
      const first = (await outbox().claim({}, LEASE_MS))!;
      expect(await outbox().oldestDue(MAIL_PRIORITIES)).to.deep.equal(now);
      await outbox().end((await outbox().claim({}, LEASE_MS))!, 'delivered', {});
      expect(await outbox().oldestDue(MAIL_PRIORITIES)).to.equal(null);
      await outbox().retry(first, new Date(now.getTime() + 1000), { error: 'later' });
      expect(await outbox().oldestDue(MAIL_PRIORITIES)).to.equal(null);
    });
  });

  describe('suppressions', () => {
    const suppressions = () => createSuppressions(database.db, clock);
    const documents = () => database.db.collection('mail_addresses').find().toArray();

    it('gives an address one token, whatever its case, and stores only a hash of the address', async () => {
      const tokens = await Promise.all([
        suppressions().tokenFor('Ada@Example.com', 'de'),
        createSuppressions(database.another(), clock).tokenFor(' ada@example.COM', 'de'),
      ]);
      expect(tokens[0]).to.match(/^[\w-]{43}$/).and.to.equal(tokens[1]); // prettier-ignore
      expect(await suppressions().tokenFor('grace@example.com', 'en')).not.to.equal(tokens[0]);
      expect(JSON.stringify(await documents()).toLowerCase())
        .not.to.include('ada')
        .and.not.to.include('example');
    });

    it('suppresses mails to an address that unsubscribed, until it subscribes again', async () => {
      const token = await suppressions().tokenFor('ada@example.com', 'de');
      await suppressions().tokenFor('ada@example.com', 'fr');
      expect(await suppressions().recipient(token)).to.deep.equal({ locale: 'fr', unsubscribed: false });
      for (let time = 0; time < 2; time += 1) {
        expect(await suppressions().unsubscribe(token)).to.deep.equal({ locale: 'fr', unsubscribed: true });
        expect((await suppressions().find('ADA@example.com', 'public'))?.reason).to.equal('unsubscribed');
      }
      expect(await suppressions().find('grace@example.com', 'public')).to.equal(null);
      for (let time = 0; time < 2; time += 1) {
        expect(await suppressions().resubscribe(token)).to.deep.equal({ locale: 'fr', unsubscribed: false });
        expect(await suppressions().find('ada@example.com', 'public')).to.equal(null);
      }
    });

    it('knows no recipient of another token', async () => {
      await suppressions().bounced('ada@example.com', 'certain');
      for (const call of ['recipient', 'unsubscribe', 'resubscribe'] as const) expect(await suppressions()[call]('unknown')).to.equal(null);
      expect((await suppressions().find('ada@example.com', 'public'))?.reason).to.equal('bounced');
    });

    it('stops results for days and other mails for minutes after a bounce, by how certain the refusal is', async () => {
      for (const [address, kind] of [
        ['gone@example.com', 'certain'],
        ['maybe@example.com', 'doubtful'],
      ] as const) {
        // prettier-ignore
        await suppressions().bounced(address, kind);
        const { results, others } = BOUNCE_STOPS[kind];
        expect(others).to.be.below(results);
        for (const [priority, ms] of [
          ['public', results],
          ['organisation', others],
          ['account', others],
        ] as const)
          // prettier-ignore
          expect(await suppressions().find(address, priority)).to.deep.equal({ reason: 'bounced', until: new Date(START.getTime() + ms) });
      }
      await suppressions().bounced('gone@example.com', 'doubtful');
      pass(BOUNCE_STOPS.certain.others - 1);
      expect(await suppressions().find('gone@example.com', 'account'), 'not shortened').not.to.equal(null);
      pass(1);
      for (const address of ['gone@example.com', 'maybe@example.com']) {
        expect(await suppressions().find(address, 'account')).to.equal(null);
        expect((await suppressions().find(address, 'public'))?.reason).to.equal('bounced');
      }
    });

    it('lifts a bounce for all mails, but not that the address unsubscribed', async () => {
      await suppressions().bounced('Ada@example.com', 'certain');
      await suppressions().unsubscribe(await suppressions().tokenFor('ada@example.com', 'en'));
      expect(await Promise.all([suppressions().lift('ada@Example.com'), suppressions().lift('ada@Example.com')])).to.have.members([
        true,
        false,
      ]);
      expect(await suppressions().find('ada@example.com', 'account')).to.equal(null);
      expect(await suppressions().find('ada@example.com', 'public')).to.deep.equal({ reason: 'unsubscribed', until: null });
      expect(await suppressions().lift('unknown@example.com')).to.equal(false);
    });

    it('removes addresses some time after their last mail or bounce, except those that unsubscribed', async () => {
      const expiry = async (): Promise<unknown> => (await documents())[0]!['expiresAt'];
      await suppressions().bounced('ada@example.com', 'certain');
      expect(await expiry()).to.deep.equal(new Date(START.getTime() + BOUNCE_STOPS.certain.results));
      const token = await suppressions().tokenFor('ada@example.com', 'en');
      expect(await expiry()).to.deep.equal(new Date(START.getTime() + LINK_KEPT_DAYS * DAY));
      pass(DAY);
      await suppressions().bounced('ada@example.com', 'certain');
      expect(await expiry(), 'not earlier').to.deep.equal(new Date(START.getTime() + LINK_KEPT_DAYS * DAY));
      await suppressions().tokenFor('ada@example.com', 'en');
      expect(await expiry()).to.deep.equal(new Date(now.getTime() + LINK_KEPT_DAYS * DAY));
      await suppressions().unsubscribe(token);
      expect(await expiry()).to.equal(undefined);
      await suppressions().bounced('ada@example.com', 'certain');
      await suppressions().tokenFor('ada@example.com', 'en');
      expect(await expiry()).to.equal(undefined);
      await suppressions().resubscribe(token);
      expect(await expiry()).to.deep.equal(new Date(now.getTime() + LINK_KEPT_DAYS * DAY));
    });
  });
});
