/** The context of an operator's parts, for tests: only what the tested part uses. */
import type { OperatorSettings } from '../../operator/config.ts';
import type { OperatorContext } from '../../operator/context.ts';
import { createOperatorMetrics } from '../../operator/metrics.ts';
import { systemClock } from '../../platform/clock.ts';
import { NO_TRACER } from '../../platform/tracing.ts';
import type { AllStores } from '../../stores/stores.ts';
import { settingsFor } from './operator-settings.ts';
import { silentLogger } from './silent-logger.ts';

export type Parts<Context extends OperatorContext = OperatorContext> = {
  [Part in keyof Omit<Context, 'stores' | 'settings'>]?: Partial<Context[Part]>;
} & {
  stores?: { [Store in keyof AllStores]?: Partial<AllStores[Store]> };
  settings?: Partial<OperatorSettings>;
};

export function contextOf<Context extends OperatorContext = OperatorContext>({
  settings,
  metrics,
  ...parts
}: Parts<Context> = {}): Context {
  return {
    logger: silentLogger,
    clock: systemClock,
    tracer: NO_TRACER,
    recorder: { event: () => undefined },
    ...parts,
    metrics: { ...createOperatorMetrics(), ...metrics },
    settings: { ...settingsFor('curbcut', []), watchNamespaces: [], ...settings },
  } as unknown as Context;
}
