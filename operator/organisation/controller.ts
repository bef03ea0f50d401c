/** The Organisation controller: applies Organisation resources to MongoDB, and writes the state of their credits to their status. */
import { classOf, GROUP, ORGANISATIONS_PLURAL, VERSION } from '../../core/protocol/custom-resources.ts';
import type { OrganisationResource } from '../../core/protocol/organisation-resources.ts';
import type { Logger } from '../../platform/logger.ts';
import type { ResourceType } from '../../platform/kubernetes/kubernetes.ts';
import type { AllStores } from '../../stores/stores.ts';
import type { OperatorMetrics } from '../metrics.ts';
import type { OperatorSettings } from '../settings.ts';
import type { Clock } from '../../platform/clock.ts';
import { keyOf } from '../runtime/cache.ts';
import { type Manager, watch } from '../runtime/manager.ts';
import { repeated } from '../runtime/controller.ts';
import { errorMessage } from '../../platform/errors.ts';
import type { ConditionUpdate } from '../runtime/conditions.ts';
import { countsAsUnreadable } from '../runtime/namespaces.ts';
import { readDeclaredWebhooks, withoutWebhooks } from './declared-webhooks.ts';
import { hasDeclared, type OrganisationFacts, type OrganisationWrites, reconcileOrganisation } from './reconcile.ts';
import { createRecords, type Records } from './records.ts';
import { createUndeclared, type Undeclared } from './undeclared.ts';

export const ORGANISATIONS: ResourceType = { group: GROUP, version: VERSION, plural: ORGANISATIONS_PLURAL };

export interface OrganisationControllerDeps {
  stores: Pick<AllStores, 'organisations' | 'credits' | 'webhooks' | 'deliveries'>;
  settings: Pick<OperatorSettings, 'operatorClass' | 'webhooks' | 'webhookSecrets' | 'watchNamespaces' | 'organisationsEveryMs'>;
  metrics: Pick<OperatorMetrics, 'organisationsReadable'>;
  logger: Logger;
  clock: Clock;
}

const WORKERS = 4;
/** The interval at which the credits of all organisations are read, and at most written to each status, in milliseconds. */
const EVERY_MS = 10_000;

/** What the parts of the controller share. */
interface Shared {
  records: Records;
  undeclared: Undeclared;
  /** The time of the last write of each status. */
  statusAt: Map<string, Date>;
  /** The organisations whose amounts have changed since. */
  due: Set<string>;
  enqueue: (id: string) => void;
}

/**
 * Adds the controller, and the task that notices changes of credits and by other writers.
 * @returns whether the resources can be read, and which of them have webhooks that are not declared yet
 */
export function addOrganisationController(
  manager: Pick<Manager, 'watchResource' | 'add' | 'addTask'>,
  deps: OrganisationControllerDeps,
): { readability: Readability; undeclared: Pick<Undeclared, 'organisations'> } {
  const { stores, settings, logger, clock } = deps;
  const { watchNamespaces, organisationsEveryMs: everyMs = EVERY_MS } = settings;
  const readability = createReadability(deps);
  const client = manager.watchResource<OrganisationResource>({
    resource: ORGANISATIONS,
    // Cluster-scoped. The operator may not be permitted to list them, and everything else works without.
    namespaces: [],
    optional: true,
    onListed: readability.listed,
    accepts: (resource) => classOf(resource) === settings.operatorClass,
  });
  const wanted = () => new Map(client.list().map(({ metadata, spec }) => [metadata.name, [...new Set(spec.namespaces ?? [])]]));
  const records = createRecords({ ...stores, wanted, logger, clock });
  const undeclared = createUndeclared({ list: () => client.list(), readability, clock, logger });
  const shared: Shared = { records, undeclared, statusAt: new Map(), due: new Set(), enqueue: (id) => enqueue(id) };
  client.onChange(({ type, object: { metadata } }) => type === 'deleted' && drop(shared, metadata.name));

  const withWebhooks = () => client.list().filter(({ spec }) => (spec.webhooks?.length ?? 0) > 0);
  manager.addTask({
    name: 'organisations',
    everyMs,
    async run() {
      await refresh(shared);
      // Their secrets are files, which change without an event.
      for (const resource of withWebhooks()) shared.enqueue(keyOf(resource));
    },
  });
  const writes: OrganisationWrites = {
    client,
    stores,
    logger,
    onChange: records.forget,
    onClaim: () => retryConflicts(shared),
    onStatus(id, now) {
      shared.statusAt.set(id, now);
      shared.due.delete(id);
    },
  };
  const enqueue = manager.add({
    name: 'organisation',
    workers: WORKERS,
    maxBackOffMs: 30_000,
    sources: [watch(client, ({ object }) => [keyOf(object)])],
    // It needs no namespace.
    isUrgent: () => true,
    reconcile: repeated(async (key, signal) => {
      const resource = client.get('', key);
      if (resource === undefined) return {};
      // Its scans may have ended since the last read.
      if (resource.metadata.deletionTimestamp !== undefined) records.forget(key);
      const record = await records.get(key).catch(() => null);
      const webhooks = settings.webhooks ? await readDeclaredWebhooks(resource, settings.webhookSecrets) : withoutWebhooks(resource);
      if (hasDeclared({ resource, record, webhooks })) undeclared.declared(resource);
      const statusAt = shared.statusAt.get(key) ?? null;
      const facts: OrganisationFacts = { resource, record, webhooks, watchNamespaces, statusAt, everyMs, now: clock.now() };
      return reconcileOrganisation(facts, writes, signal);
    }),
  });
  return { readability, undeclared };
}

/** Namespaces may be free now. */
function retryConflicts({ records, enqueue }: Shared): void {
  for (const id of records.conflicting()) {
    records.forget(id);
    enqueue(id);
  }
}

async function refresh({ records, statusAt, due, enqueue }: Shared): Promise<void> {
  const changed = await records.refresh().catch(() => null);
  // The records have logged it.
  if (changed === null) return;
  for (const id of changed.others) enqueue(id);
  for (const id of changed.amounts) due.add(id);
  for (const id of takeOldest(due, (id) => statusAt.get(id)?.getTime() ?? 0)) enqueue(id);
}

/** Forgets a resource that is gone. */
function drop({ records, undeclared, statusAt, due }: Shared, id: string): void {
  records.forget(id);
  undeclared.forget(id);
  statusAt.delete(id);
  due.delete(id);
}

/** The maximum number per interval: of many busy organisations, each is written in time. */
export const OLDEST_MAX = 100;

/**
 * Removes from `due` those whose statuses are the oldest.
 * @param writtenAt the time of the last write of a status in milliseconds; 0 if there was none
 * @returns what was removed, at most `OLDEST_MAX`
 */
export function takeOldest(due: Set<string>, writtenAt: (id: string) => number): string[] {
  const next = [...due].toSorted((one, other) => writtenAt(one) - writtenAt(other)).slice(0, OLDEST_MAX);
  for (const id of next) due.delete(id);
  return next;
}

/** Whether the operator can list Organisations. Without this permission, everything but the Organisation resource works. */
export interface Readability {
  /** Called after each list, with null if it succeeded, else with the error and the number of failures in a row. */
  listed(error: unknown, failures: number): void;
  /** The condition of the default ScanQueue; null while nothing is known. */
  condition(): ConditionUpdate | null;
  /** Calls `listener` when the condition changes. @returns a function that removes it */
  onChange(listener: () => void): () => void;
}

export function createReadability({
  metrics,
  logger,
}: {
  metrics: Pick<OperatorMetrics, 'organisationsReadable'>;
  logger: Logger;
}): Readability {
  const listeners = new Set<() => void>();
  let condition: ConditionUpdate | null = null;

  function change(to: ConditionUpdate): void {
    if (condition?.status === to.status) return;
    condition = to;
    metrics.organisationsReadable(to.status === 'True');
    for (const listener of [...listeners]) listener();
  }

  return {
    listed(error, failures) {
      const type = 'OrganisationsReadable';
      if (error === null) {
        if (condition?.status === 'False') logger.info({}, 'Organisations are readable again');
        return change({ type, status: 'True', reason: 'Readable', message: 'The operator can read Organisations.' });
      }
      if (!countsAsUnreadable(error, failures)) return;
      const problem = errorMessage(error).slice(0, 500);
      if (condition?.status !== 'False') logger.warn({ reason: problem }, 'cannot read Organisations, their manifests have no effect');
      const message = `Organisation manifests have no effect, because the operator cannot list them (${problem}). Everything else works. Install the custom resource definition and the ClusterRole (chart value rbac.organisations), or manage organisations with curbcut-admin.`;
      change({ type, status: 'False', reason: 'Unreadable', message });
    },
    condition: () => condition,
    onChange(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}
