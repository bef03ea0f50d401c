/**
 * The KnownIssues controller: mirrors KnownIssues resources to MongoDB, where scans find them, and writes what is in effect to their
 * status. A resource has no finalizer: its deletion is an event, and a periodic comparison finds those that nobody has seen.
 */
import type { AccessibilityScan } from '../../core/protocol/custom-resources.ts';
import { classOf, GROUP, VERSION } from '../../core/protocol/custom-resources.ts';
import { KNOWN_ISSUES_PLURAL, type KnownIssuesResource } from '../../core/protocol/known-issues-resources.ts';
import { readSite } from '../../core/scan/known-issues.ts';
import { siteOf } from '../../core/scan/site.ts';
import type { ResourceType } from '../../platform/kubernetes/kubernetes.ts';
import { OBSERVED_EVERY_MS } from '../../stores/schedules/schedules.ts';
import type { OperatorContext } from '../context.ts';
import { type CacheEvent, fromKey, keyOf, toKey } from '../runtime/cache.ts';
import { watch } from '../runtime/manager.ts';
import { trackLists } from '../runtime/namespaces.ts';
import { repeated } from '../runtime/controller.ts';
import type { ResourceClient } from '../runtime/resource-client.ts';
import { hasEnded } from '../scan/policy/status.ts';
import { createNamespaceOwners, enqueueChanged } from '../schedule/owners.ts';
import { type KnownIssuesFacts, type KnownIssuesWrites, reconcileKnownIssues } from './reconcile.ts';

export const KNOWN_ISSUES: ResourceType = { group: GROUP, version: VERSION, plural: KNOWN_ISSUES_PLURAL };

/** The interval at which manifests notice that their namespace has another organisation, in milliseconds. */
const OWNERS_EVERY_MS = 5_000;
const WORKERS = 2;
const MAX_BACK_OFF_MS = 30_000;

type Client = ResourceClient<KnownIssuesResource>;

/** Adds the controller, and the tasks that notice other organisations of namespaces and resources that were deleted meanwhile. */
export function addKnownIssuesController(context: OperatorContext): void {
  const { manager, scanClient, stores, settings, clock } = context;
  const { operatorClass, watchNamespaces } = settings;
  const { onListed, isListed } = trackLists(watchNamespaces);
  const client = manager.watchResource<KnownIssuesResource>({
    resource: KNOWN_ISSUES,
    namespaces: watchNamespaces,
    accepts: (resource) => classOf(resource) === operatorClass,
    // Scans run where known issues cannot be read, as after an upgrade without the custom resource definition.
    optional: true,
    onListed,
  });
  const owners = createNamespaceOwners(stores.organisations, stores.dashboardSchedules, clock.monotonic);
  const writes: KnownIssuesWrites = {
    context,
    client,
    onFreed: ({ site, namespace, name }) =>
      keysOf(client, site)
        .filter((key) => key !== toKey(namespace, name))
        .forEach(enqueue),
  };
  const enqueue = manager.add({
    name: 'known-issues',
    workers: WORKERS,
    maxBackOffMs: MAX_BACK_OFF_MS,
    shareOf: (key) => fromKey(key).namespace,
    sources: [watch(client, ({ object }) => [keyOf(object)]), watch(scanClient, (event) => keysOfSite(client, event))],
    reconcile: repeated(async (key, signal) => {
      const manifest = { operatorClass, ...fromKey(key) };
      const resource = client.get(manifest.namespace, manifest.name) ?? null;
      const owner = await owners.of(manifest.namespace);
      const now = clock.now();
      const record = await readRecord(context, { manifest, resource, owner, now });
      return reconcileKnownIssues({ manifest, resource, isListed: isListed(manifest.namespace), owner, record, now }, writes, signal);
    }),
  });
  manager.addTask({
    name: 'organisations of known issues',
    everyMs: OWNERS_EVERY_MS,
    run: () => enqueueChanged(owners, client.list(), ({ namespace }) => namespace!, enqueue),
  });
  manager.addTask({
    name: 'stored known issues',
    everyMs: settings.knownIssuesEveryMs ?? OBSERVED_EVERY_MS,
    run: () => compare(context, client, enqueue),
  });
}

const keysOf = (client: Client, site: string | null): string[] =>
  client.list().flatMap((resource) => (readSite(resource.spec.site) === site ? [keyOf(resource)] : []));

/** The manifests of the site of a scan that has ended, because it says which known issues are stale. */
function keysOfSite(client: Client, { type, object, previous }: CacheEvent<AccessibilityScan>): string[] {
  const ended = type === 'modified' && previous !== undefined && !hasEnded(previous) && hasEnded(object);
  return ended && object.status?.known !== undefined ? keysOf(client, siteOf(object.spec.url)) : [];
}

async function readRecord(
  { stores: { knownIssues }, logger }: OperatorContext,
  { manifest, resource, owner, now }: Omit<KnownIssuesFacts, 'record' | 'isListed'>,
): Promise<KnownIssuesFacts['record']> {
  const site = resource && readSite(resource.spec.site);
  try {
    const stored = await knownIssues.declared(manifest);
    if (resource === null || owner.state !== 'owned' || site === null) return { stored, occupied: null, matches: null };
    const { organisation } = owner;
    const [occupied, matches] = await Promise.all([
      knownIssues.occupied(organisation, site, manifest, now),
      knownIssues.matchesOf(organisation, site),
    ]);
    return { stored, occupied, matches };
  } catch (error) {
    // The status cannot say it of a resource that is gone.
    if (resource === null) throw error;
    logger.warn({ key: keyOf(resource), err: error }, 'cannot read known issues from the database, retrying');
    return null;
  }
}

/** Enqueues what is stored of resources that do not exist or are not listed, and the resources of which nothing is stored. */
async function compare({ stores, settings }: OperatorContext, client: Client, enqueue: (key: string) => void): Promise<void> {
  const stored = await stores.knownIssues.declaredOf(settings.operatorClass);
  const keys = new Set(stored.map(({ namespace, name }) => toKey(namespace, name)));
  for (const { namespace, name } of stored) if (client.get(namespace, name) === undefined) enqueue(toKey(namespace, name));
  for (const resource of client.list()) if (!keys.has(keyOf(resource))) enqueue(keyOf(resource));
}
