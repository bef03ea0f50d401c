import { expect } from 'chai';
import fc from 'fast-check';
import { type Actor, KEY_SCOPES, type KeyScope, permissionsOf, rightsOfNewKey, ROLES } from './accounts.ts';

const NOW = new Date('2026-11-01T12:00:00Z');
const in_ = (minutes: number): Date => new Date(NOW.getTime() + minutes * 60_000);
const key = (scopes: readonly KeyScope[], expiresAt: Date | null, test = false): Actor => ({
  kind: 'key',
  keyId: 'k1',
  scopes,
  expiresAt,
  rootCreator: 'admin',
  test,
});
const user: Actor = { kind: 'user', email: 'ann@example.com', role: 'owner', sessionId: 's1' };
const member: Actor = { ...user, role: 'member' };
const TWO = ['scans:read', 'keys:write'] as const;

describe('rights of a new key', () => {
  for (const [what, actor, wanted, rights] of [
    [
      'a user who says nothing gives all scopes, without an end',
      user,
      { expiresAt: null },
      { ok: true, scopes: KEY_SCOPES, expiresAt: null, test: false },
    ],
    [
      'a member who says nothing gives what members may do',
      member,
      { expiresAt: null },
      { ok: true, scopes: KEY_SCOPES.filter((scope) => scope !== 'known-issues:write'), expiresAt: null, test: false },
    ],
    ['a user gives any end', user, { expiresAt: in_(9e6) }, { ok: true, scopes: KEY_SCOPES, expiresAt: in_(9e6), test: false }],
    [
      'a key that says nothing gives what it has',
      key(TWO, in_(1)),
      { expiresAt: null },
      { ok: true, scopes: TWO, expiresAt: in_(1), test: false },
    ],
    [
      'a key gives less',
      key(TWO, in_(2)),
      { scopes: ['scans:read'], expiresAt: in_(1) },
      { ok: true, scopes: ['scans:read'], expiresAt: in_(1), test: false },
    ],
    ['a key gives its own end', key(TWO, in_(1)), { expiresAt: in_(1) }, { ok: true, scopes: TWO, expiresAt: in_(1), test: false }],
    ['a key gives no later end', key(TWO, in_(1)), { expiresAt: in_(2) }, { ok: false, reason: 'outlives_creator', end: in_(1) }],
    ['a key without an end gives any', key(TWO, null), { expiresAt: in_(2) }, { ok: true, scopes: TWO, expiresAt: in_(2), test: false }],
    ['a user gives a test key', user, { expiresAt: null, test: true }, { ok: true, scopes: KEY_SCOPES, expiresAt: null, test: true }],
    ['a test key gives test keys', key(TWO, null, true), { expiresAt: null }, { ok: true, scopes: TWO, expiresAt: null, test: true }],
    ['a test key gives no other key', key(TWO, null, true), { expiresAt: null, test: false }, { ok: false, reason: 'test_only' }],
    [
      'a key gives no scope that it lacks',
      key(TWO, null),
      { scopes: ['scans:read', 'scans:write'], expiresAt: null },
      { ok: false, reason: 'missing_scope', scope: 'scans:write' },
    ],
    ['no key ends in the past', user, { expiresAt: NOW }, { ok: false, reason: 'expired' }],
  ] as const)
    it(what, () => {
      expect(rightsOfNewKey(actor, wanted, NOW)).to.deep.equal(rights);
    });

  // ASVS 8.2.1: access is limited to explicitly granted rights; no chain of keys widens them.
  it('never exceed those of the first key, however long the chain', () => {
    const end = fc.option(fc.integer({ min: 1, max: 100 }).map(in_), { nil: null });
    const scopes = fc.subarray([...KEY_SCOPES], { minLength: 1 });
    const wanted = fc.record({ scopes: fc.option(scopes, { nil: undefined }), expiresAt: end });
    fc.assert(
      fc.property(scopes, end, fc.array(wanted, { minLength: 1, maxLength: 6 }), (first, until, chain) => {
        let actor = { scopes: first as readonly KeyScope[], expiresAt: until };
        for (const one of chain) {
          const given = rightsOfNewKey(key(actor.scopes, actor.expiresAt), one, NOW);
          if (given.ok) actor = given;
        }
        expect(first).to.include.members([...actor.scopes]);
        if (until !== null) expect(actor.expiresAt).to.be.at.most(until);
      }),
    );
  });

  it('of a user never exceed those of the role', () => {
    for (const role of ROLES) {
      const given = rightsOfNewKey({ ...user, role }, { expiresAt: null }, NOW);
      expect(given.ok && given.scopes).to.deep.equal(KEY_SCOPES.filter((scope) => permissionsOf(role).includes(scope)));
    }
  });
});
