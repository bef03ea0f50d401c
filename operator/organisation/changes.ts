/**
 * What the changes of an organisation share, and what ends with one: everything that acts for it or sees what it does. Its members,
 * scans, reports and credits are kept, so that `curbcut-admin organisation restore` can return them.
 */
import type { OrganisationResource } from '../../core/protocol/organisation-resources.ts';
import { hasCode } from '../../platform/kubernetes/kubernetes.ts';
import type { OperatorContext } from '../context.ts';
import { ObjectGone, type ResourceClient } from '../runtime/resource-client.ts';
import { SCHEDULES } from '../scan/kube-types.ts';
import { hasEnded } from '../scan/policy/status.ts';

export interface OrganisationWrites {
  context: OperatorContext;
  client: ResourceClient<OrganisationResource>;
  /** Called after each attempt to change MongoDB or the metadata: the record must be read again. */
  onChange(id: string): void;
  onClaim(): void;
  onStatus(id: string, now: Date): void;
}

/** A change of MongoDB or the metadata. @returns false if another writer was faster, so that the rest does not apply */
export type Change = (to: OrganisationWrites, resource: OrganisationResource, signal: AbortSignal) => Promise<boolean>;

const ACTOR = 'manifest';

/** Records a change in the organisation's audit log. A failure is only logged, because the change was made. */
export async function audit(
  { context: { stores, logger } }: OrganisationWrites,
  organisation: string,
  action: string,
  subject: string,
): Promise<void> {
  logger.info({ organisation, action, subject }, 'organisation changed');
  await stores.organisations.record({ organisation, actor: ACTOR, action, subject }).catch((error: unknown) => {
    logger.error({ organisation, action, subject, err: error }, 'audit entry lost');
  });
}

/** Revokes the keys, disables the webhooks of REST, cancels the invitations, and deletes the schedules of the dashboard. Idempotent. */
export const endAccess: Change = async (to, { metadata: { name: id } }, signal) => {
  const { stores, connection, settings, logger } = to.context;
  for (const key of await stores.keys.revokeAll(id, ACTOR)) await audit(to, id, 'key.revoke', key.id);
  for (const { id: webhook, name } of await stores.webhooks.disableAll(id)) {
    await stores.deliveries.cancelAll(webhook);
    await audit(to, id, 'webhook.disable', `${name} (${webhook})`);
  }
  for (const { email } of await stores.invitations.cancelAll(id)) await audit(to, id, 'user.invite-cancel', email);
  for (const schedule of await stores.dashboardSchedules.list(id)) {
    const { namespace, name } = schedule;
    // Another installation with this database may have it.
    if (namespace !== settings.namespace) continue;
    await connection.request('DELETE', connection.path(SCHEDULES, namespace, name), { signal }).catch((error: unknown) => {
      if (hasCode(error, 404)) return;
      if (!hasCode(error, 403)) throw error;
      logger.warn({ namespace, schedule: name, err: error }, 'schedule of a deleted organisation remains, and starts no scans');
    });
    await stores.dashboardSchedules.remove(id, schedule);
    await audit(to, id, 'schedule.delete', name);
  }
  return true;
};

/** The limit for canceling a scan, in milliseconds: an admission webhook of its namespace may hang. */
const WRITE_WITHIN_MS = 5000;

/** Cancels the live scans. One that cannot be written does not stop the others. @throws the first error */
export const endScans: Change = async ({ context: { scanClient } }, { metadata: { name: id } }, signal) => {
  let failed: Error | null = null;
  for (const scan of scanClient.list()) {
    const isLive = scan.status?.organisation === id && scan.spec.cancel !== true && !hasEnded(scan);
    if (!isLive || scan.metadata.deletionTimestamp !== undefined) continue;
    const within = AbortSignal.any([signal, AbortSignal.timeout(WRITE_WITHIN_MS)]);
    await scanClient.patchSpec(scan, { cancel: true }, within).catch((error: Error) => {
      // It is gone, or another scan has its name.
      if (!(error instanceof ObjectGone || hasCode(error, 409, 422))) failed ??= error;
    });
  }
  signal.throwIfAborted();
  if (failed !== null) throw failed;
  return true;
};
