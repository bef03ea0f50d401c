/** Executes the actions for an Organisation resource, and records each change in the organisation's audit log. */
import type { Organisation } from '../../core/organisation.ts';
import { ORGANISATION_FINALIZER, type OrganisationResource } from '../../core/protocol/organisation-resources.ts';
import type { Logger } from '../../platform/logger.ts';
import type { AllStores } from '../../stores/stores.ts';
import type { ResourceClient } from '../runtime/resource-client.ts';
import type { ManifestVersion } from '../../stores/accounts/organisation-document.ts';
import type { DeclaredWebhooks } from './declared-webhooks.ts';
import { versionOf, type AppliedSpec, type OrganisationAction } from './plan.ts';

/** The actor of audit log entries. */
const ACTOR = 'manifest';

export interface OrganisationActionDeps {
  client: Pick<ResourceClient<OrganisationResource>, 'patchStatus' | 'patchMetadata'>;
  stores: Pick<AllStores, 'organisations' | 'credits' | 'webhooks' | 'deliveries'>;
  logger: Logger;
}

/** The result of an action: false if another writer was faster, so that the rest of the plan does not apply. */
export type RunOrganisationAction = (action: OrganisationAction, resource: OrganisationResource, signal: AbortSignal) => Promise<boolean>;

export function createOrganisationActions({ client, stores, logger }: OrganisationActionDeps): RunOrganisationAction {
  const { organisations, credits, webhooks, deliveries } = stores;

  async function record(organisation: string, action: string, subject: string): Promise<void> {
    logger.info({ organisation, action, subject }, 'organisation changed');
    await organisations.record({ organisation, actor: ACTOR, action, subject }).catch((error: unknown) => {
      logger.error({ organisation, action, subject, err: error }, 'audit entry lost');
    });
  }

  async function declare(id: string, version: ManifestVersion, { wanted, kept }: Pick<DeclaredWebhooks, 'wanted' | 'kept'>): Promise<void> {
    for (const { change, webhook } of await webhooks.declare(id, wanted, { kept, version })) {
      if (change === 'delete') await deliveries.cancelAll(webhook.id);
      await record(id, `webhook.${change}`, `${webhook.name} (${webhook.id})`);
    }
  }

  function withFinalizers(resource: OrganisationResource, finalizers: string[], signal: AbortSignal) {
    return client.patchMetadata(resource, { finalizers }, signal);
  }

  return async (action, resource, signal) => {
    const { name: id, finalizers = [] } = resource.metadata;
    const version = versionOf(resource);
    switch (action.do) {
      case 'addFinalizer':
        await withFinalizers(resource, [...finalizers, ORGANISATION_FINALIZER], signal);
        return true;
      case 'removeFinalizer':
        await withFinalizers(resource, finalizers.filter((name) => name !== ORGANISATION_FINALIZER), signal); // prettier-ignore
        return true;
      case 'apply': {
        const applied = await organisations.applyManifest(id, version, action.spec);
        if (!applied.ok) return false;
        for (const [what, subject] of changesOf(id, applied.before, action.spec)) await record(id, what, subject);
        return true;
      }
      case 'openAccount':
        await credits.open(id);
        return true;
      case 'grant': {
        const { id: grant, pages } = action.grant;
        if (await credits.grant(id, grant, pages)) await record(id, 'organisation.grant', `${grant}: ${pages} pages`);
        return true;
      }
      case 'claim': {
        const claimed = await organisations.claimNamespaces(id, version, action.namespaces);
        if (claimed.ok) await record(id, 'organisation.namespaces', action.namespaces.join(', ') || 'none');
        return claimed.ok;
      }
      case 'declareWebhooks': {
        if (!(await organisations.recordVersion(id, version)).ok) return false;
        // If another writer is faster now, what this one adds is deleted when the records are read again.
        await declare(id, version, action);
        return true;
      }
      case 'removeWebhooks':
        await declare(id, version, { wanted: [], kept: [] });
        return true;
      case 'close': {
        const closed = await organisations.closeOrganisation(id, version);
        if (closed.ok) await record(id, 'organisation.delete', id);
        return closed.ok;
      }
      case 'writeStatus':
        await client.patchStatus(resource, action.status, signal);
        return true;
    }
  };
}

/** The audit log entries of an applied spec, each as its action and subject. */
function changesOf(id: string, before: Organisation | null, spec: AppliedSpec): [action: string, subject: string][] {
  if (before === null) return [['organisation.add', id], ...(spec.blocked ? blocking(id, true) : [])];
  const entries: [string, string][] = [];
  if (before.deletedAt !== null) entries.push(['organisation.restore', id]);
  if (before.displayName !== spec.displayName) entries.push(['organisation.name', spec.displayName]);
  if (before.plan !== spec.plan) entries.push(['organisation.plan', spec.plan]);
  if (before.blocked !== spec.blocked) entries.push(...blocking(id, spec.blocked));
  return entries;
}

function blocking(id: string, blocked: boolean): [action: string, subject: string][] {
  return [[blocked ? 'organisation.block' : 'organisation.unblock', id]];
}
