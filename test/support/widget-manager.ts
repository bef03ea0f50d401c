/** A manager with one controller of an invented kind, on a fake Kubernetes API, for tests of the runtime. */
import type { Condition, KubernetesObject } from '../../core/protocol/custom-resources.ts';
import { conditionOf, withConditions } from '../../operator/runtime/conditions.ts';
import { fromKey, keyOf } from '../../operator/runtime/cache.ts';
import { createManager, watch, type ControllerDefinition } from '../../operator/runtime/manager.ts';
import { createPlannedReconcile, type Planned } from '../../operator/runtime/controller.ts';
import { createFakeApi } from './fake-api.ts';
import { createFakeClock, settle } from './fake-clock.ts';
import { createFakeLogger } from './fake-logger.ts';

export interface Widget extends KubernetesObject {
  spec: { size: number };
  status?: { size?: number; conditions?: Condition[] };
}
interface Part extends KubernetesObject {
  widget: string;
}

export const WIDGETS = { group: 'example.test', version: 'v1', plural: 'widgets' };
export const PARTS = { group: 'example.test', version: 'v1', plural: 'parts' };

export const widget = (name: string, size: number, namespace = 'one'): Widget => ({
  apiVersion: 'example.test/v1',
  kind: 'Widget',
  metadata: { name, namespace, generation: 1 },
  spec: { size },
});
export const part = (name: string, of: string): Part => ({
  apiVersion: 'example.test/v1',
  kind: 'Part',
  metadata: { name, namespace: 'one' },
  widget: of,
});

export interface Facts {
  widget: Widget;
  parts: number;
  now: Date;
}
export type Action = { do: 'grow'; to: number } | { do: 'report' };

/** A manager with a controller that grows the size in a widget's status step by step, up to `spec.size`, then reports it ready. */
function createWidgetManager(more: Partial<ControllerDefinition & Planned<Facts, Action>> = {}, namespaces = ['one', 'two']) {
  const api = createFakeApi();
  const clock = createFakeClock();
  const logger = createFakeLogger();
  const manager = createManager({ connection: api.connection, logger, clock });
  const widgets = manager.watchResource<Widget>({ resource: WIDGETS, namespaces });
  const parts = manager.watch<Part>({ resource: PARTS, namespaces, indexes: { widget: (object) => [object.widget] } });
  const planned: string[] = [];
  const gathered = new Set<string>();
  const planning: Planned<Facts, Action> = {
    async gather(key) {
      const { namespace, name } = fromKey(key);
      const found = widgets.get(namespace, name);
      gathered.add(key);
      return found === undefined ? null : { widget: found, parts: parts.byIndex('widget', name).length, now: clock.now() };
    },
    plan({ widget: { metadata, spec, status }, parts: count }) {
      const size = status?.size ?? 0;
      planned.push(`${metadata.name} ${size}/${spec.size} parts ${count}`);
      if (size < spec.size) return { actions: [{ do: 'grow', to: size + 1 }], wakeAfterMs: null };
      const ready = conditionOf(status?.conditions, 'Ready')?.status === 'True';
      return { actions: ready ? [] : [{ do: 'report' }], wakeAfterMs: 60_000 };
    },
    async execute({ actions }, { widget: current, now }, signal) {
      for (const action of actions) {
        const ready = { type: 'Ready', status: 'True', reason: 'Grown', message: 'It is as large as wanted.' } as const;
        const status = action.do === 'grow' ? { size: action.to } : { conditions: withConditions(current, [ready], now) };
        await widgets.patchStatus(current, status, signal);
      }
      return 'again';
    },
    ...more,
  };
  const enqueue = manager.add({
    name: 'widget',
    workers: 2,
    sources: [watch(widgets, ({ object }) => [keyOf(object)]), watch(parts, ({ object }) => [`one/${object.widget}`])],
    reconcile: createPlannedReconcile(planning),
    ...more,
  });
  const [stop, lost] = [new AbortController(), new AbortController()];
  let running: Promise<void> | null = null;
  const finish = async () => {
    stop.abort();
    await clock.advance(20_000);
    await running;
  };
  return {
    api,
    clock,
    logger,
    manager,
    enqueue,
    planned,
    gathered,
    stop,
    lost,
    finish,
    widgets,
    async run() {
      running = manager.run(stop.signal, lost.signal);
      await settle();
    },
    statusOf: (name: string) => (api.get(WIDGETS, 'one', name) as Widget).status,
  };
}

/** Creates managers in the tests of the current suite, and stops them after each test. */
export function useWidgetManagers(): typeof createWidgetManager {
  const finishes: (() => Promise<void>)[] = [];
  afterEach(async () => {
    for (const finish of finishes.splice(0)) await finish();
  });
  return (...parameters) => {
    const created = createWidgetManager(...parameters);
    finishes.push(created.finish);
    return created;
  };
}
