/** How the person who opened the link of an invitation can join. Pure. */
import type { Invitation } from '../../../stores/accounts/invitations.ts';
import type { User } from '../../../stores/accounts/users.ts';

/**
 * `join`: the account is signed in and confirms. `new_password`: the link gives the address to this person, who chooses a
 * password. `sign_in`: the address has an account, and the link does not give access to it. `other_account`: someone else is
 * signed in.
 */
export type InvitationWay = 'join' | 'new_password' | 'sign_in' | 'other_account';

export interface OpenedInvitation {
  invitation: Pick<Invitation, 'email' | 'mailed'>;
  /** The account of the invited address. Null: there is none. */
  account: Pick<User, 'verified'> | null;
  /** Whether the account belongs to an organisation. */
  belongs: boolean;
  /** The address that is signed in in this browser. Null: none. */
  signedIn: string | null;
}

export function invitationWay({ invitation, account, belongs, signedIn }: OpenedInvitation): InvitationWay {
  if (signedIn !== null && signedIn !== invitation.email) return 'other_account';
  const unproven = account === null || !account.verified;
  // Who set the password of an address that was never verified is unknown. The mail proves who owns it, so that person starts anew.
  if (invitation.mailed && unproven) return 'new_password';
  if (signedIn !== null) return 'join';
  // A link that was shown to someone else proves nothing, so it must not open an account that is in use.
  return account === null || (unproven && !belongs) ? 'new_password' : 'sign_in';
}
