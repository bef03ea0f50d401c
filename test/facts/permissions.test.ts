import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { KEY_SCOPES, PERMISSIONS, permissionsOf, ROLES, type KeyScope } from '../../core/accounts.ts';

const TEXT = readFileSync(join(import.meta.dirname, '..', '..', 'docs', 'security.md'), 'utf8');

describe('docs/security.md', () => {
  it('has the permissions of each role, and whether they are scopes', () => {
    const header = `| permission | ${ROLES.join(' | ')} | API key |\n|---|---|---|---|---|\n`;
    const rows = PERMISSIONS.map((permission) => {
      const byRole = ROLES.map((role) => (permissionsOf(role).includes(permission) ? 'yes' : 'no'));
      const byKey = KEY_SCOPES.includes(permission as KeyScope) ? 'by scope' : 'no';
      return `| \`${permission}\` | ${[...byRole, byKey].join(' | ')} |\n`;
    });
    expect(TEXT).to.include(`${header}${rows.join('')}\n`);
  });
});
