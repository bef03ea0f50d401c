/** `curbcut-admin webhook …`: lists the webhooks of an organisation, and enables or disables one, also one of the manifest. */
import { hostOf } from '../../core/webhooks/webhooks.ts';
import type { Webhook } from '../../stores/webhooks/webhooks.ts';
import { columns, command, CommandRefused, findOrganisation, ORGANISATION_OPTION, record, type Command } from './command.ts';

const rowOf = ({ id, name, url, events, managedBy, disabled, failingSince }: Webhook): string[] => [
  id,
  name,
  hostOf({ url }),
  events.join(','),
  managedBy,
  disabled === null ? (failingSince === null ? 'enabled' : `failing since ${failingSince.toISOString()}`) : `disabled: ${disabled.reason}`,
];

const setEnabled = (enabled: boolean): Command =>
  command({
    arguments: '<WEBHOOK_ID>',
    summary: enabled ? 'delivers to a webhook again that was stopped or disabled' : 'stops deliveries to a webhook, and cancels what waits',
    options: ORGANISATION_OPTION,
    async run({ positionals: [webhookId], values }, context) {
      const { id } = await findOrganisation(context, values.organisation);
      const { webhooks, deliveries } = context.stores;
      const before = await webhooks.find(id, webhookId);
      if (before === null)
        throw new CommandRefused(`${id} has no webhook ${webhookId}; run "curbcut-admin webhook list --organisation ${id}".`);
      const changed = (before.disabled === null) !== enabled;
      if (changed) {
        await webhooks.setEnabled(id, webhookId, enabled);
        await record(context, id, enabled ? 'webhook.enable' : 'webhook.disable', `${before.name} (${webhookId})`);
      }
      if (!enabled) await deliveries.cancelAll(webhookId);
      const state = enabled ? 'enabled' : 'disabled';
      return { data: { id: webhookId, enabled, changed }, lines: [`Webhook ${webhookId} ${changed ? 'is' : 'was already'} ${state}.`] };
    },
  });

export const WEBHOOK: Record<string, Command> = {
  list: command({
    summary: "lists an organisation's webhooks, and whether they fail",
    options: ORGANISATION_OPTION,
    async run({ values }, context) {
      const { id } = await findOrganisation(context, values.organisation);
      const webhooks = await context.stores.webhooks.list(id);
      const data = webhooks.map(({ url, ...webhook }) => ({ ...webhook, host: hostOf({ url }) }));
      if (webhooks.length === 0) return { data, lines: [`${id} has no webhooks.`] };
      return { data, lines: columns([['ID', 'NAME', 'HOST', 'EVENTS', 'MANAGED BY', 'STATE'], ...webhooks.map(rowOf)]) };
    },
  }),
  enable: setEnabled(true),
  disable: setEnabled(false),
};
