/** What a person leaves in an organisation. The only list of it: for the dashboard, `curbcut-admin` and the mails to owners. */
import type { DashboardSchedules } from '../schedules/dashboard-schedules.ts';
import type { ListedSchedule, Schedules } from '../schedules/schedules.ts';
import type { Webhook, Webhooks } from '../webhooks/webhooks.ts';
import type { ApiKey, Keys } from './keys.ts';

/** `keys`: the live ones, newest first, also those that keys of the person created. `schedules`: those of the dashboard. */
export type LeftBehind = { keys: ApiKey[]; webhooks: Webhook[]; schedules: ListedSchedule[] };

export interface LeftBehindStores {
  keys: Pick<Keys, 'createdBy'>;
  webhooks: Pick<Webhooks, 'createdBy'>;
  schedules: Pick<Schedules, 'find'>;
  dashboardSchedules: Pick<DashboardSchedules, 'createdBy'>;
}

/** @param person an e-mail address in lower case; any other actor of the audit log that is no key */
export async function leftBehindBy(stores: LeftBehindStores, organisation: string, person: string): Promise<LeftBehind> {
  const [keys, webhooks, recorded] = await Promise.all([
    stores.keys.createdBy(organisation, person),
    stores.webhooks.createdBy(organisation, person),
    stores.dashboardSchedules.createdBy(organisation, person),
  ]);
  const rows = await Promise.all(recorded.map((one) => stores.schedules.find(organisation, one)));
  // One that was deleted in the cluster has a record for a while.
  return { keys, webhooks, schedules: rows.filter((row) => row !== null) };
}

export const isNothing = ({ keys, webhooks, schedules }: LeftBehind): boolean => keys.length + webhooks.length + schedules.length === 0;
