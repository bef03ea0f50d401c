/** How the dashboard shows roles. */
import { ROLES, type Role } from '../../core/accounts.ts';
import type { Choice } from '../web/components/index.ts';

export const ROLE_TEXTS: Readonly<Record<Role, { name: string; may: string }>> = {
  owner: { name: 'Owner', may: 'everything, including members and the audit log' },
  member: { name: 'Member', may: 'starts scans, and manages schedules, API keys and webhooks' },
  viewer: { name: 'Viewer', may: 'sees scans, schedules and credits' },
};

/** The roles as choices of a field. */
export const ROLE_CHOICES: readonly Choice[] = ROLES.map((role) => ({
  value: role,
  text: `${ROLE_TEXTS[role].name}: ${ROLE_TEXTS[role].may}`,
}));

/** Returns the role of a form field; null if the field names no role. */
export const roleOf = (text: string): Role | null => ROLES.find((role) => role === text) ?? null;
