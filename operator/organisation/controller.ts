/** The Organisation controller: applies Organisation resources to MongoDB, and writes the state of their credits to their status. */
import { classOf, GROUP, ORGANISATIONS_PLURAL, VERSION } from '../../core/protocol/custom-resources.ts';
import type { OrganisationResource } from '../../core/protocol/organisation-resources.ts';
import type { ResourceType } from '../../platform/kubernetes/kubernetes.ts';
import type { OperatorContext } from '../context.ts';
import { keyOf } from '../runtime/cache.ts';
import { watch } from '../runtime/manager.ts';
import { repeated } from '../runtime/controller.ts';
import { errorMessage } from '../../platform/errors.ts';
import type { ConditionUpdate } from '../runtime/conditions.ts';
import { countsAsUnreadable } from '../runtime/namespaces.ts';
import { createUndeclared, readDeclaredWebhooks, withoutWebhooks } from './declared-webhooks.ts';
import type { OrganisationWrites } from './changes.ts';
import { hasDeclared, reconcileOrganisation } from './reconcile.ts';
import { createRecords } from './records.ts';

export const ORGANISATIONS: ResourceType = { group: GROUP, version: VERSION, plural: ORGANISATIONS_PLURAL };

const WORKERS = 4;
/** The interval at which the credits of all organisations are read, and at most written to each status, in milliseconds. */
const EVERY_MS = 10_000;

/**
 * Adds the controller, and the task that notices changes of credits and by other writers.
 * @returns whether the resources can be read, and which of them have webhooks that are not declared yet
 */
export function addOrganisationController(context: OperatorContext) {
  const { manager, settings, clock } = context;
  const { watchNamespaces, organisationsEveryMs: everyMs = EVERY_MS } = settings;
  const readability = createReadability(context);
  const client = manager.watchResource<OrganisationResource>({
    resource: ORGANISATIONS,
    // Cluster-scoped. The operator may not be permitted to list them, and everything else works without.
    namespaces: [],
    optional: true,
    onListed: readability.listed,
    accepts: (resource) => classOf(resource) === settings.operatorClass,
  });
  const wanted = () => new Map(client.list().map(({ metadata, spec }) => [metadata.name, [...new Set(spec.namespaces ?? [])]]));
  const records = createRecords(context, wanted);
  const undeclared = createUndeclared(context, client.list, readability);
  const statusAt = new Map<string, Date>();
  /** The organisations whose amounts have changed since. */
  const due = new Set<string>();
  client.onChange(({ type, object: { metadata } }) => {
    if (type !== 'deleted') return;
    for (const memory of [records, undeclared]) memory.forget(metadata.name);
    for (const memory of [statusAt, due]) memory.delete(metadata.name);
  });

  manager.addTask({
    name: 'organisations',
    everyMs,
    async run() {
      // The records have logged a failure.
      const changed = await records.refresh().catch(() => null);
      if (changed !== null) {
        for (const id of changed.others) enqueue(id);
        for (const id of changed.amounts) due.add(id);
        for (const id of takeOldest(due, (id) => statusAt.get(id)?.getTime() ?? 0)) enqueue(id);
      }
      // Secrets of webhooks are files, which change without an event.
      for (const resource of client.list()) if ((resource.spec.webhooks?.length ?? 0) > 0) enqueue(keyOf(resource));
    },
  });
  const writes: OrganisationWrites = {
    context,
    client,
    onChange: records.forget,
    // Namespaces may be free now.
    onClaim() {
      for (const id of records.conflicting()) {
        records.forget(id);
        enqueue(id);
      }
    },
    onStatus(id, now) {
      statusAt.set(id, now);
      due.delete(id);
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
      const facts = { resource, record, webhooks, watchNamespaces, statusAt: statusAt.get(key) ?? null, everyMs, now: clock.now() };
      return reconcileOrganisation(facts, writes, signal);
    }),
  });
  return { readability, undeclared };
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

export type Readability = ReturnType<typeof createReadability>;

/** Whether the operator can list Organisations. Without this permission, everything but the Organisation resource works. */
export function createReadability({ metrics, logger }: OperatorContext) {
  const listeners = new Set<() => void>();
  let condition: ConditionUpdate | null = null;

  function change(to: ConditionUpdate): void {
    if (condition?.status === to.status) return;
    condition = to;
    metrics.organisationsReadable(to.status === 'True');
    for (const listener of [...listeners]) listener();
  }

  return {
    /** Called after each list, with null if it succeeded, else with the error and the number of failures in a row. */
    listed(error: unknown, failures: number): void {
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
    /** The condition of the default ScanQueue; null while nothing is known. */
    condition: () => condition,
    /** @returns a function that removes the listener */
    onChange(listener: () => void): () => void {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}
