/** The Organisation controller: applies Organisation resources to MongoDB, and writes the state of their credits to their status. */
import { ORGANISATIONS_PLURAL, GROUP, VERSION } from '../../core/protocol/custom-resources.ts';
import { classOfOrganisation, type OrganisationResource } from '../../core/protocol/organisation-resources.ts';
import type { Logger } from '../../platform/logger.ts';
import type { ResourceType } from '../../platform/kubernetes/kubernetes.ts';
import type { AllStores } from '../../stores/stores.ts';
import type { OperatorMetrics } from '../metrics.ts';
import type { Clock } from '../runtime/clock.ts';
import { keyOf } from '../runtime/key.ts';
import { watch, type ControllerDefinition, type Manager, type PeriodicTask } from '../runtime/manager.ts';
import { createOrganisationActions } from './execute.ts';
import { planOrganisation, type OrganisationAction, type OrganisationFacts } from './plan.ts';
import { createReadability, type Readability } from './readability.ts';
import { createRecords } from './records.ts';

export const ORGANISATIONS: ResourceType = { group: GROUP, version: VERSION, plural: ORGANISATIONS_PLURAL };

export interface OrganisationControllerDeps {
  manager: Pick<Manager, 'watchResource'>;
  stores: Pick<AllStores, 'organisations' | 'credits'>;
  operatorClass: string;
  /** The interval at which the credits of all organisations are read, and at most written to each status, in milliseconds. */
  everyMs: number;
  metrics: Pick<OperatorMetrics, 'organisationsReadable'>;
  logger: Logger;
  clock: Clock;
}

export interface OrganisationController {
  definition: ControllerDefinition<OrganisationFacts, OrganisationAction>;
  /** Notices changes of credits, and changes by other writers. */
  refresh: PeriodicTask;
  readability: Readability;
}

const WORKERS = 4;
/** The maximum number of statuses per interval that are written because of their amounts: of many busy organisations, each gets its turn. */
const AMOUNTS_MAX = 100;

export function createOrganisationController(deps: OrganisationControllerDeps): OrganisationController {
  const { manager, stores, logger, clock } = deps;
  const readability = createReadability(deps);
  const client = manager.watchResource<OrganisationResource>({
    resource: ORGANISATIONS,
    // Cluster-scoped. The operator may not be permitted to list them, and everything else works without.
    namespaces: [],
    optional: true,
    onListed: readability.listed,
    accepts: (resource) => classOfOrganisation(resource) === deps.operatorClass,
  });
  const records = createRecords({
    ...stores,
    wanted: () => new Map(client.list().map(({ metadata, spec }) => [metadata.name, [...new Set(spec.namespaces ?? [])]])),
    logger,
    clock,
  });
  const act = createOrganisationActions({ client, stores, logger });
  const statusAt = new Map<string, Date>();
  const due = new Set<string>();
  let enqueue: (key: string) => void = () => undefined;

  client.onChange(({ type, object: { metadata } }) => {
    if (type !== 'deleted') return;
    records.forget(metadata.name);
    statusAt.delete(metadata.name);
    due.delete(metadata.name);
  });

  /** Namespaces may be free now. */
  function retryConflicts() {
    for (const id of records.conflicting()) {
      records.forget(id);
      enqueue(id);
    }
  }

  return {
    readability,
    definition: {
      name: 'organisation',
      workers: WORKERS,
      maxBackOffMs: 30_000,
      sources: [
        watch(client, ({ object }) => [keyOf(object)]),
        (add) => {
          enqueue = add;
          return () => (enqueue = () => undefined);
        },
      ],
      // It needs no namespace.
      isUrgent: () => true,
      async gather(key) {
        const resource = client.get('', key);
        if (resource === undefined) return null;
        // Its scans may have ended since the last read.
        if (resource.metadata.deletionTimestamp !== undefined) records.forget(key);
        const record = await records.get(key).catch(() => null);
        return { resource, record, statusAt: statusAt.get(key) ?? null, everyMs: deps.everyMs, now: new Date(clock.now()) };
      },
      plan: planOrganisation,
      async execute({ actions, wakeAfterMs }, { resource, now }, signal) {
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
          if (action.do === 'claim') retryConflicts();
        }
        return 'again';
      },
    },
    refresh: {
      name: 'organisations',
      everyMs: deps.everyMs,
      async run() {
        const changed = await records.refresh().catch(() => null);
        // The records have logged it.
        if (changed === null) return;
        for (const id of changed.others) enqueue(id);
        for (const id of changed.amounts) due.add(id);
        const written = (id: string) => statusAt.get(id)?.getTime() ?? 0;
        const next = [...due].toSorted((one, other) => written(one) - written(other)).slice(0, AMOUNTS_MAX);
        for (const id of next) {
          due.delete(id);
          enqueue(id);
        }
      },
    },
  };
}
