/** An account that joins an organisation while the owner of its address takes it over. */
import { expect } from 'chai';
import { randomUUID } from 'node:crypto';
import type { Collection, Db } from 'mongodb';
import { createInvitations } from '../../stores/accounts/invitations.ts';
import { createMembers } from '../../stores/accounts/members.ts';
import { createOrganisations } from '../../stores/accounts/organisations.ts';
import { createUsers } from '../../stores/accounts/users.ts';
import { useDatabase } from './database.ts';

/** A database in which something happens just before a document of `name` is replaced. */
function beforeReplacement(db: Db, name: string, happens: () => Promise<unknown>): Db {
  const racing = (collection: Collection): Collection =>
    new Proxy(collection, {
      get(target, property) {
        const value: unknown = Reflect.get(target, property);
        if (typeof value !== 'function') return value;
        if (property !== 'replaceOne') return value.bind(target) as unknown;
        return async (...parameters: unknown[]) => {
          await happens();
          return value.apply(target, parameters) as unknown;
        };
      },
    });
  const collection = (wanted: string) => (wanted === name ? racing(db.collection(wanted)) : db.collection(wanted));
  return { collection } as unknown as Db;
}

describe('an account that nobody has verified', () => {
  const database = useDatabase();

  // ASVS 6.4: what an account did before its address was verified binds the owner of the address to nothing.
  for (const [when, early] of [
    ['while', false],
    ['shortly before', true],
  ] as const)
    it(`and that joins an organisation ${when} it is replaced, does not make the owner of the address a member`, async () => {
      const { db } = database;
      const [organisation, owner, email] = ['org', 'owner@', 'victim@'].map((name) => `${name}${randomUUID().slice(0, 8)}`) as [
        string,
        string,
        string,
      ];
      const [owners, victim] = [`${owner}.example`, `${email}.example`];
      const [users, members] = [createUsers(db), createMembers(db)];
      await createOrganisations(db).add({ id: organisation, displayName: organisation, plan: 'team', namespaces: [] });
      await users.add({ email: owners, organisation, password: null });
      await users.add({ email: victim, password: 'the password of a thief' });
      const invited = await createInvitations(db).create({ organisation, email: victim, role: 'member', createdBy: owners, mailed: false });
      const { id } = invited.ok ? invited.invitation : { id: '' };
      // As in a request that has noted the organisation, and is about to join it.
      if (early)
        await db.collection<{ _id: string }>('users').updateOne({ _id: victim }, { $addToSet: { unconfirmed: organisation } as never });

      const racing = beforeReplacement(db, 'users', () => members.accept({ id, email: victim }, () => users.find(victim)));
      const identity = { issuer: 'https://login.example', subject: victim };
      await createUsers(racing).add({ email: victim, password: null, identity });
      await users.link(victim, identity);

      const [belonging] = await members.of(victim);
      expect(belonging).to.deep.include({ role: 'member', confirmed: false });
    });
});
