/** Gathers the facts about a schedule from the caches, and asks the API server about a created scan that the cache does not hold. */
import type { AccessibilityScan } from '../../core/protocol/custom-resources.ts';
import type { ScanSchedule, ScanScheduleSpec } from '../../core/protocol/scan-schedules.ts';
import { BoundedMap } from '../../platform/concurrency/bounded-map.ts';
import { readIfThere, type KubernetesConnection } from '../../platform/kubernetes/kubernetes.ts';
import { SCANS } from '../scan/kube-types.ts';
import type { ScanClient } from '../scan/scan-client.ts';
import { ownerOfSchedule, type NamespaceOwners } from './owners.ts';
import type { ScheduleFacts, ScheduleState } from './policy/facts.ts';
import { recordedBefore } from './policy/history.ts';
import { CREATED_CHECK_MS } from './policy/plan.ts';
import { parseSchedule, type ParsedSchedule } from '../../core/schedule/times.ts';
import { jitterOf } from './policy/times.ts';
import type { ScheduleStates } from './state.ts';

export interface GatherDeps {
  connection: Pick<KubernetesConnection, 'path' | 'request'>;
  /** Has the index `owner`, by the uid of the owner. */
  scanClient: Pick<ScanClient, 'get' | 'byIndex'>;
  states: ScheduleStates;
  owners: Pick<NamespaceOwners, 'of'>;
  apiNamespace: string;
  parse: ParseSchedule;
  now: () => Date;
}

export type ParseSchedule = (spec: Pick<ScanScheduleSpec, 'schedule' | 'timeZone'>) => ParsedSchedule;

export type GatherSchedule = (schedule: ScanSchedule, signal: AbortSignal) => Promise<ScheduleFacts>;

export function createGather(deps: GatherDeps): GatherSchedule {
  const { connection, scanClient, states, owners, apiNamespace } = deps;

  /** Forgets the created scans that the cache holds by now, or that are gone. */
  async function forgetSeen(state: ScheduleState, namespace: string, signal: AbortSignal): Promise<void> {
    for (const [name, { scan, at }] of state.created) {
      if (scanClient.get(namespace, name)?.metadata.uid === scan.metadata.uid) state.created.delete(name);
      else if (deps.now().getTime() - at.getTime() >= CREATED_CHECK_MS) {
        const current = await readIfThere<AccessibilityScan>(connection, connection.path(SCANS, namespace, name), { signal });
        if (current?.metadata.uid === scan.metadata.uid) state.created.set(name, { scan: current!, at: deps.now() });
        else state.created.delete(name);
      }
    }
  }

  return async (schedule, signal) => {
    const { metadata, spec } = schedule;
    const namespace = metadata.namespace!;
    const state = states.of(metadata.uid!);
    const owner = await ownerOfSchedule(owners, metadata, apiNamespace);
    await forgetSeen(state, namespace, signal);
    const cached = scanClient.byIndex('owner', metadata.uid!).filter((scan) => scan.metadata.namespace === namespace);
    const children = [...cached, ...[...state.created.values()].map(({ scan }) => scan)];
    state.recorded ??= recordedBefore(schedule, children, apiNamespace);
    return {
      schedule,
      parsed: deps.parse(spec),
      jitterMs: jitterOf(namespace, metadata.name, spec.jitterSeconds ?? 0),
      children,
      apiNamespace,
      owner,
      state,
      now: deps.now(),
    };
  };
}

/** The number of parsed schedules that are kept, so that a plan does not parse the same expression again. */
const PARSED_MAX = 5_000;

/** Creates a `parseSchedule` that remembers its last results. */
export function createScheduleParser(): ParseSchedule {
  const parsed = new BoundedMap<ParsedSchedule>({ max: PARSED_MAX });
  return ({ schedule, timeZone }) => {
    const key = `${timeZone ?? ''} ${schedule}`;
    const known = parsed.get(key) ?? parseSchedule(schedule, timeZone);
    parsed.set(key, known);
    return known;
  };
}
