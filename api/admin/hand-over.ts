/** `curbcut-admin organisation hand-over`: changes the writer of an organisation. */
import { MANAGERS, type ManagedBy, type Organisation } from '../../core/organisation.ts';
import { CommandRefused, argument, organisationRefused, record, requiredOption, type Command } from './command.ts';

/** What the commands call the writers of organisations. */
export const WRITERS: Readonly<Record<ManagedBy, string>> = { manifest: 'manifest', admin: 'curbcut-admin' };

/** What happens after each direction of `hand-over`. */
function nextStep(id: string, to: ManagedBy, { blocked }: Organisation): string[] {
  if (to === 'manifest')
    return [`From now on its Organisation manifest sets it. If no manifest exists yet, apply one with the name ${id}.`];
  const lines = [
    'An Organisation manifest of this name changes nothing any more, and its webhooks are deleted. You can delete it; the organisation stays.',
  ];
  return blocked ? [...lines, `The organisation is blocked. To unblock it, run: curbcut-admin organisation unblock ${id}`] : lines;
}

export const HAND_OVER: Command = {
  usage: `ID --to ${MANAGERS.join('|')}`,
  summary: 'makes its Organisation manifest, or curbcut-admin, the only one that may change the organisation',
  options: { to: { type: 'string' } },
  async run(given, context) {
    const id = argument(given, 0, 'The ID');
    const text = requiredOption(given, 'to');
    const to = MANAGERS.find((manager) => manager === text);
    if (to === undefined) throw new CommandRefused(`--to must be ${MANAGERS.join(' or ')}, not ${text}.`, true);
    const handed = await context.stores.organisations.handOver(id, to);
    if (!handed.ok) throw organisationRefused(id, handed);
    // The manifest was their only writer.
    if (to === 'admin') await context.stores.webhooks.declare(id, []);
    if (handed.changed) await record(context, id, 'organisation.hand-over', `to ${WRITERS[to]}`);
    return {
      data: handed.organisation,
      lines: [
        `Organisation ${id} ${handed.changed ? 'is now' : 'was already'} managed by ${to === 'manifest' ? 'its manifest' : WRITERS[to]}.`,
        ...nextStep(id, to, handed.organisation),
      ],
    };
  },
};
