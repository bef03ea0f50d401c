/** The conditions of an Organisation. Ready is for users, Reconciling and Stalled for kstatus (Flux, `kubectl wait`). */
import type { OrganisationResource } from '../../core/protocol/organisation-resources.ts';
import { listed, readiness, type ConditionUpdate } from '../runtime/conditions.ts';

export interface TakenNamespace {
  namespace: string;
  organisation: string;
}

const named = (namespaces: readonly string[]): string =>
  listed(
    namespaces.map((name) => `namespace ${name}`),
    20,
    ', ',
  );

/**
 * The spec is in effect, but for namespaces that other organisations have.
 * @param unwatched the namespaces whose scans the operator does not run
 * @param webhooks why webhooks of the spec are not applied
 */
export function ready(
  { spec }: OrganisationResource,
  taken: readonly TakenNamespace[],
  unwatched: readonly string[] = [],
  webhooks: readonly string[] = [],
): ConditionUpdate[] {
  if (taken.length > 0) {
    const already = named(taken.map(({ namespace, organisation }) => `${namespace} to organisation ${organisation}`));
    const message = `Already charged: ${already}. Everything else is in effect; a namespace follows when the other organisation releases it.`;
    return readiness({ ready: 'False', stalled: true, reason: 'NamespaceTaken', message });
  }
  if (unwatched.length > 0) {
    const message = `The operator does not run the scans of ${named(unwatched)}; scans.extraNamespaces of the chart says which. Everything else is in effect.`;
    return readiness({ ready: 'False', stalled: true, reason: 'NamespaceNotWatched', message });
  }
  if (webhooks.length > 0) {
    const message = `Not applied: ${webhooks.join('; ')}. Everything else is in effect.`;
    return readiness({ ready: 'False', stalled: true, reason: 'WebhookNotApplied', message });
  }
  if (spec.blocked === true)
    return readiness({ ready: 'True', reason: 'Blocked', message: 'The spec is in effect: the organisation is blocked and cannot scan.' });
  return readiness({ ready: 'True', reason: 'Applied', message: 'The spec is in effect.' });
}

export function managedByAdmin(id: string): ConditionUpdate[] {
  const message = `Organisation ${id} is managed by curbcut-admin, so this manifest changes nothing. To let it manage the organisation, run: curbcut-admin organisation hand-over ${id} --to manifest`;
  return readiness({ ready: 'False', stalled: true, reason: 'ManagedByAdmin', message });
}

/** The tenant of this name is another object's. Its keys, members and scans must never be those of whoever takes the name next. */
export function nameInUse(id: string): ConditionUpdate[] {
  const message =
    `Another object named ${id} had this organisation, which is kept with its members, scans, reports and credits. ` +
    `If this is the same tenant, run: curbcut-admin organisation restore ${id}. If it is not, use another name, ` +
    `or delete the old one for good: curbcut-admin organisation purge ${id} --confirm ${id}`;
  return readiness({ ready: 'False', stalled: true, reason: 'NameInUse', message });
}

export function deleting(liveScans: number): ConditionUpdate[] {
  const scans = liveScans === 1 ? '1 scan is live' : `${liveScans} scans are live`;
  const message = `The organisation is blocked. Its deletion waits until its scans, which are canceled, have ended: ${scans}.`;
  return readiness({ ready: 'False', reconciling: true, reason: 'ScansLive', message });
}

export function outdated(id: string): ConditionUpdate[] {
  const message = `A newer version of this manifest was applied before, as happens when the cluster is restored from a backup. To make this version count, run: curbcut-admin organisation hand-over ${id} --to admin, and then the same with --to manifest`;
  return readiness({ ready: 'False', stalled: true, reason: 'Outdated', message });
}

export function storeUnavailable(deleted: boolean): ConditionUpdate[] {
  const message = `${deleted ? 'The deletion waits' : 'The changes wait'} until the database answers.`;
  return readiness({ ready: 'Unknown', reconciling: true, reason: 'StoreUnavailable', message });
}
