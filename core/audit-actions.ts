/** The actions of the audit log, and what they mean. */
export const AUDIT_ACTIONS: Readonly<Record<string, string>> = {
  'organisation.add': 'Organisation added',
  'organisation.name': 'Organisation renamed',
  'organisation.plan': 'Plan changed',
  'organisation.namespaces': 'Namespaces changed',
  'organisation.grant': 'Credits granted',
  'organisation.block': 'Organisation blocked',
  'organisation.unblock': 'Organisation unblocked',
  'organisation.delete': 'Organisation deleted',
  'organisation.restore': 'Organisation restored',
  'organisation.second-factor': 'Second factor required or optional',
  'organisation.hand-over': 'Writer changed',
  'user.add': 'Member added',
  'user.invite': 'Member invited',
  'user.invite-cancel': 'Invitation canceled',
  'user.join': 'Invitation accepted',
  'user.decline': 'Invitation declined',
  'user.confirm': 'Membership confirmed',
  'user.sign-in': 'Signed in',
  'user.sign-in-failed': 'Sign-in failed',
  'user.new-network': 'Signed in from a new network',
  'user.role': 'Role changed',
  'user.remove': 'Member removed',
  'user.leave': 'Member left',
  'user.delete': 'Account deleted',
  'user.rename': 'Name changed',
  'user.password': 'Password changed',
  'user.reset-password': 'Password reset',
  'user.sign-out-everywhere': 'Signed out everywhere',
  'user.link': 'Identity provider linked',
  'user.second-factor': 'Second factor accepted',
  'user.second-factor-failed': 'Second factor refused',
  'user.factor-add': 'Second factor added',
  'user.factor-rename': 'Second factor renamed',
  'user.factor-remove': 'Second factor removed',
  'user.recovery-codes': 'Recovery codes replaced',
  'user.reset-second-factor': 'Second factors reset',
  'key.issue': 'API key created',
  'key.revoke': 'API key revoked',
  'key.new-network': 'API key used from a new network',
  'webhook.add': 'Webhook created',
  'webhook.change': 'Webhook changed',
  'webhook.enable': 'Webhook enabled',
  'webhook.disable': 'Webhook disabled',
  'webhook.rotate': 'Secret of a webhook replaced',
  'webhook.delete': 'Webhook deleted',
  'mail.lift': 'Bounce of a mail lifted',
  'scan.submit': 'Scan started',
  'scan.cancel': 'Scan canceled',
};

/** Actions about the security of accounts and keys. Their entries name the client's network, and are not kept for ever. */
const SECURITY_ACTIONS: ReadonlySet<string> = new Set([
  'user.sign-in',
  'user.sign-in-failed',
  'user.new-network',
  'user.password',
  'user.reset-password',
  'user.sign-out-everywhere',
  'user.second-factor',
  'user.second-factor-failed',
  'user.factor-add',
  'user.factor-rename',
  'user.factor-remove',
  'user.recovery-codes',
  'user.reset-second-factor',
  'key.new-network',
]);

export const isSecurityAction = (action: string): boolean => SECURITY_ACTIONS.has(action);

/** Changes after which the owner of the account gets a mail, and what the mail is about. */
export const NOTICE_OF_ACTION: Readonly<Record<string, AccountNotice>> = {
  'user.password': 'password',
  'user.reset-password': 'password',
  'user.factor-add': 'factors',
  'user.factor-remove': 'factors',
  'user.recovery-codes': 'factors',
};

export const ACCOUNT_NOTICES = ['sign_in', 'password', 'factors'] as const;
export type AccountNotice = (typeof ACCOUNT_NOTICES)[number];
