import { expect } from 'chai';
import { auditName, keyCreator, KEY_SCOPES, mayCall, PERMISSIONS, permissionsOf, ROLES, type Actor } from './accounts.ts';

describe('permissions', () => {
  it('of a role include those of the roles after it', () => {
    for (const [index, role] of ROLES.slice(1).entries()) expect(permissionsOf(ROLES[index]!)).to.include.members([...permissionsOf(role)]);
    expect(permissionsOf('owner')).to.deep.equal(PERMISSIONS);
  });

  it('are those of the decision about roles', () => {
    expect(permissionsOf('member')).to.have.members([
      ...permissionsOf('viewer'),
      'scans:write',
      'scans:delete',
      'keys:write',
      'webhooks:write',
      'schedules:write',
    ]);
    expect(permissionsOf('viewer')).to.have.members(['scans:read', 'credits:read']);
  });

  it('of a key are its scopes, which never include members and the audit log', () => {
    const key = (scopes: typeof KEY_SCOPES | readonly []): Actor => ({
      kind: 'key',
      keyId: 'k1',
      scopes,
      expiresAt: null,
      rootCreator: 'admin',
      test: false,
    });
    for (const permission of PERMISSIONS) {
      expect(mayCall({ actor: key([]) }, permission)).to.equal(false);
      expect(mayCall({ actor: key(KEY_SCOPES) }, permission)).to.equal(!['members:write', 'audit:read'].includes(permission));
    }
  });

  it('of a user are those of the role', () => {
    const actor: Actor = { kind: 'user', email: 'ann@example.com', role: 'viewer', sessionId: 's1' };
    expect(PERMISSIONS.filter((permission) => mayCall({ actor }, permission))).to.deep.equal(permissionsOf('viewer'));
  });
});

describe('auditName', () => {
  it('is the address of a user, and the id of a key', () => {
    expect(auditName({ kind: 'user', email: 'ann@example.com', role: 'viewer', sessionId: 's1' })).to.equal('ann@example.com');
    expect(auditName({ kind: 'key', keyId: 'k1', scopes: [], expiresAt: null, rootCreator: 'admin', test: false })).to.equal('key:k1');
  });
});

describe('keyCreator', () => {
  const key = (rootCreator: string): Actor => ({ kind: 'key', keyId: 'k1', scopes: [], expiresAt: null, rootCreator, test: false });
  for (const [what, actor, createdBy, rootCreator] of [
    ['a user', { kind: 'user', email: 'ann@example.com', role: 'member', sessionId: 's1' }, 'ann@example.com', 'ann@example.com'],
    ['a key that a user created', key('ann@example.com'), 'key:k1', 'ann@example.com'],
    ['a key whose chain curbcut-admin began', key('curbcut-admin'), 'key:k1', 'curbcut-admin'],
  ] as const)
    it(`names ${what}, and the first of the chain`, () => {
      expect(keyCreator(actor)).to.deep.equal({ createdBy, rootCreator });
    });
});
