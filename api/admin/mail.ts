/** `curbcut-admin mail …`: addresses that get no mails, because a mail server refused them. */
import { isEmailAddress } from '../../core/email-address.ts';
import { ANONYMOUS } from '../../core/organisation.ts';
import { addressHash } from '../../stores/outbox/suppressions.ts';
import { command, CommandRefused, organisationsOf, record, type AdminContext, type Command } from './command.ts';

function checkAddress(address: string): void {
  if (!isEmailAddress(address)) throw new CommandRefused(`${address} is not an email address.`);
}

/**
 * Recorded for the organisations of the account. Of other people the audit log, which is kept for ever, gets only the hash of the
 * address.
 */
async function recordLift(context: AdminContext, address: string): Promise<void> {
  const user = await context.stores.users.find(address);
  if (user === null) return record(context, ANONYMOUS, 'mail.lift', `sha256:${addressHash(address)}`);
  for (const id of await organisationsOf(context, user.email)) await record(context, id, 'mail.lift', user.email);
}

export const MAIL: Record<string, Command> = {
  show: command({
    arguments: '<ADDRESS>',
    summary: 'shows whether mails to an address are stopped, why and until when',
    async run({ positionals: [address] }, { stores }) {
      checkAddress(address);
      const [results, others] = [await stores.suppressions.find(address, 'public'), await stores.suppressions.find(address, 'account')];
      const state = (what: string, found: typeof results): string =>
        found === null
          ? `${what} are sent.`
          : `${what} are not sent${found.until === null ? '' : ` until ${found.until.toISOString()}`}: ${found.reason}.`;
      return {
        data: { address, results, others },
        lines: [state('Results of public scans', results), state('Invitations and links for a new password', others)],
      };
    },
  }),

  lift: command({
    arguments: '<ADDRESS>',
    summary: 'sends mails again to an address that bounced. It does not undo that its owner unsubscribed',
    async run({ positionals: [address] }, context) {
      checkAddress(address);
      const lifted = await context.stores.suppressions.lift(address);
      if (lifted) await recordLift(context, address);
      return { data: { address, lifted }, lines: [lifted ? `Mails are sent to ${address} again.` : `${address} has not bounced.`] };
    },
  }),
};
