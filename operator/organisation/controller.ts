/** The Organisation controller: applies Organisation resources to MongoDB, and writes the state of their credits to their status. */
import { classOf, ORGANISATIONS_PLURAL, GROUP, VERSION } from '../../core/protocol/custom-resources.ts';
import type { OrganisationResource } from '../../core/protocol/organisation-resources.ts';
import type { Logger } from '../../platform/logger.ts';
import type { ResourceType } from '../../platform/kubernetes/kubernetes.ts';
import type { AllStores } from '../../stores/stores.ts';
import type { OperatorMetrics } from '../metrics.ts';
import type { OperatorSettings } from '../settings.ts';
import type { Clock } from '../../platform/clock.ts';
import { keyOf } from '../runtime/cache.ts';
import { watch, type Manager } from '../runtime/manager.ts';
import { createPlannedReconcile, type Planned } from '../runtime/controller.ts';
import { createOrganisationActions, type RunOrganisationAction } from './execute.ts';
import { readDeclaredWebhooks, withoutWebhooks } from './declared-webhooks.ts';
import { hasDeclared, planOrganisation, type OrganisationAction, type OrganisationFacts } from './plan.ts';
import { createReadability, type Readability } from './readability.ts';
import { createRecords, type Records } from './records.ts';
import { takeOldest } from './oldest-first.ts';
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
  const reconcile = createPlannedReconcile<OrganisationFacts, OrganisationAction>({
    async gather(key) {
      const resource = client.get('', key);
      if (resource === undefined) return null;
      // Its scans may have ended since the last read.
      if (resource.metadata.deletionTimestamp !== undefined) records.forget(key);
      const record = await records.get(key).catch(() => null);
      const webhooks = settings.webhooks ? await readDeclaredWebhooks(resource, settings.webhookSecrets) : withoutWebhooks(resource);
      if (hasDeclared({ resource, record, webhooks })) undeclared.declared(resource);
      return { resource, record, webhooks, watchNamespaces, statusAt: shared.statusAt.get(key) ?? null, everyMs, now: clock.now() };
    },
    plan: planOrganisation,
    execute: createExecute(createOrganisationActions({ client, stores, logger }), shared),
  });
  const enqueue = manager.add({
    name: 'organisation',
    workers: WORKERS,
    maxBackOffMs: 30_000,
    sources: [watch(client, ({ object }) => [keyOf(object)])],
    // It needs no namespace.
    isUrgent: () => true,
    reconcile,
  });
  return { readability, undeclared };
}

function createExecute(act: RunOrganisationAction, shared: Shared): Planned<OrganisationFacts, OrganisationAction>['execute'] {
  const { records, statusAt, due } = shared;
  return async ({ actions, wakeAfterMs }, { resource, now }, signal) => {
    const { name } = resource.metadata;
    for (const action of actions) {
      signal.throwIfAborted();
      if (action.do === 'writeStatus') {
        await act(action, resource, signal);
        statusAt.set(name, now);
        due.delete(name);
        return wakeAfterMs === null ? {} : { requeueAfterMs: wakeAfterMs };
      }
      try {
        if (!(await act(action, resource, signal))) break;
      } finally {
        records.forget(name);
      }
      if (action.do === 'claim') retryConflicts(shared);
    }
    return 'again';
  };
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
