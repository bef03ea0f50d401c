/** A ScanSchedule and its scans in memory, and operators that act on them by the plan, for tests without a Kubernetes API. */
import { API_VERSION, type AccessibilityScan } from '../../core/protocol/custom-resources.ts';
import type { ScanSchedule, ScanScheduleSpec } from '../../core/protocol/scan-schedules.ts';
import { timestamp } from '../../platform/clock.ts';
import { withRecorded, recordedBefore } from '../../operator/schedule/policy/history.ts';
import { isActive } from '../../operator/schedule/policy/child.ts';
import type { NamespaceOwner, Note, ScheduleFacts } from '../../operator/schedule/policy/facts.ts';
import { planSchedule } from '../../operator/schedule/policy/plan.ts';
import type { ScheduleAction } from '../../operator/schedule/policy/facts.ts';
import { parseSchedule } from '../../core/schedule/times.ts';
import { jitterOf } from '../../operator/schedule/policy/starts.ts';
import { newScheduleState } from '../../operator/schedule/policy/facts.ts';

export const OWNED: NamespaceOwner = { state: 'owned', organisation: 'acme', blocked: false };
export const NAMESPACE = 'team';

export function scheduleWith(spec: Partial<ScanScheduleSpec>, createdAt: Date, name = 'nightly'): ScanSchedule {
  return {
    apiVersion: API_VERSION,
    kind: 'ScanSchedule',
    metadata: { name, namespace: NAMESPACE, uid: `uid-${name}`, generation: 1, creationTimestamp: timestamp(createdAt) },
    spec: { schedule: '0 3 * * *', scanTemplate: { spec: { url: 'https://site.test/' } }, ...spec },
  };
}

/** The API server's state. */
export class World {
  now: Date;
  schedule: ScanSchedule;
  scans = new Map<string, AccessibilityScan>();
  /** The names of all scans that were ever created, in order. */
  readonly created: string[] = [];
  readonly notes: Note[] = [];
  owner = OWNED;
  #version = 1;

  constructor(schedule: ScanSchedule, now: Date) {
    this.schedule = schedule;
    this.now = now;
  }

  get version(): number {
    return this.#version;
  }

  change(spec: Partial<ScanScheduleSpec>): void {
    const { metadata } = this.schedule;
    this.schedule = {
      ...this.schedule,
      metadata: { ...metadata, generation: metadata.generation! + 1 },
      spec: { ...this.schedule.spec, ...spec },
    };
    this.#version += 1;
  }

  /** @returns the scan, or null if its name exists */
  create(scan: AccessibilityScan): AccessibilityScan | null {
    const { name } = scan.metadata;
    if (this.scans.has(name)) return null;
    this.created.push(name);
    const metadata = { ...scan.metadata, uid: `${name}-${this.created.length}`, creationTimestamp: timestamp(this.now) };
    this.scans.set(name, { ...scan, metadata, spec: structuredClone(scan.spec) });
    return this.scans.get(name)!;
  }

  /** @returns false if the schedule has changed since `version` */
  patchStatus(patch: object, version: number): boolean {
    if (version !== this.#version) return false;
    this.schedule = { ...this.schedule, status: merge(this.schedule.status ?? {}, patch) };
    this.#version += 1;
    return true;
  }

  end(name: string, phase: 'done' | 'failed' | 'canceled', passed?: boolean, message?: string): void {
    const scan = this.scans.get(name)!;
    this.scans.set(name, {
      ...scan,
      status: { phase, completionTime: timestamp(this.now), ...(passed !== undefined && { passed }), ...(message && { message }) },
    });
  }

  active(): AccessibilityScan[] {
    return [...this.scans.values()].filter(isActive);
  }
}

type Json = Record<string, unknown>;
const isJson = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value);

function merge(target: object, patch: object): Json {
  const merged: Json = { ...target };
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) delete merged[name];
    else merged[name] = isJson(value) ? merge(isJson(merged[name]) ? merged[name] : {}, value) : value;
  }
  return merged;
}

/** An operator with a cache of the world. Losing it is a crash. */
export class Operator {
  readonly world: World;
  #state = newScheduleState();
  #cache!: { schedule: ScanSchedule; scans: AccessibilityScan[]; version: number };

  constructor(world: World) {
    this.world = world;
    this.sync();
  }

  /** Lets the cache catch up with the world. */
  sync(): void {
    const { schedule, scans, version } = this.world;
    this.#cache = { schedule, scans: [...scans.values()], version };
    for (const { metadata } of this.#cache.scans) this.#state.created.delete(metadata.name);
  }

  facts(): ScheduleFacts {
    const { schedule, scans } = this.#cache;
    const { schedule: expression, timeZone, jitterSeconds = 0 } = schedule.spec;
    const children = [...scans, ...[...this.#state.created.values()].map(({ scan }) => scan)];
    this.#state.recorded ??= recordedBefore(schedule, children, 'api');
    return {
      schedule,
      parsed: parseSchedule(expression, timeZone),
      jitterMs: jitterOf(NAMESPACE, schedule.metadata.name, jitterSeconds),
      children,
      apiNamespace: 'api',
      owner: this.world.owner,
      state: this.#state,
      now: this.world.now,
    };
  }

  /** Executes the first `limit` actions of one plan. @returns whether there were any */
  step(limit = Infinity): boolean {
    const { actions } = planSchedule(this.facts());
    for (const action of actions.slice(0, limit)) if (!this.#execute(action)) break;
    return actions.length > 0;
  }

  /** Plans until nothing is left to do, with a cache that never lags. */
  settle(): void {
    for (let round = 0; round < 200; round += 1) {
      this.sync();
      if (!this.step()) return;
    }
    throw new Error('the plan does not settle');
  }

  #execute(action: ScheduleAction): boolean {
    const { world } = this;
    switch (action.do) {
      case 'start': {
        const { name } = action.scan.metadata;
        const scan = world.create(action.scan) ?? world.scans.get(name)!;
        if (scan.metadata.ownerReferences?.[0]?.uid !== world.schedule.metadata.uid)
          this.#state.refusal = { name, reason: 'NameTaken', message: `${name} is taken`, at: world.now };
        else this.#state.created.set(name, { scan, at: world.now });
        return true;
      }
      case 'cancel': {
        const scan = world.scans.get(action.scan.metadata.name);
        if (scan !== undefined) world.scans.set(scan.metadata.name, { ...scan, spec: { ...scan.spec, cancel: true } });
        return true;
      }
      case 'compare': {
        const same = {
          new: 0,
          onNewPages: 0,
          newKnown: 0,
          judged: 0,
          newCauses: 0,
          fixed: 0,
          unchanged: 1,
          notTested: 0,
          caveats: [],
          examples: [],
        };
        this.#state.comparison = { completed: action.completed, previous: action.previous, outcome: { ok: true, ...same }, at: world.now };
        return true;
      }
      case 'remove':
        world.scans.delete(action.scan.metadata.name);
        return true;
      case 'writeStatus': {
        const last = this.#cache.schedule.status?.lastCompleted;
        if (!world.patchStatus(action.status, this.#cache.version)) return false;
        if (action.completed !== null) this.#state.recorded = withRecorded(this.#state.recorded, last, action.completed);
        world.notes.push(...action.notes);
        this.#cache = { ...this.#cache, schedule: world.schedule, version: world.version };
        return true;
      }
    }
  }
}
