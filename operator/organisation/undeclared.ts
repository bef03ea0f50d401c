/**
 * Which organisations have webhooks in their manifest that are not declared yet: the operator has just started, or the manifest has
 * changed. The events of these organisations wait, so that an interruption between the manifest and its webhooks loses none.
 */
import type { OrganisationResource } from '../../core/protocol/organisation-resources.ts';
import type { OperatorContext } from '../context.ts';
import type { ConditionUpdate } from '../runtime/conditions.ts';

/** How long events wait at most, in milliseconds: other webhooks of the organisation must get them while its manifest is stuck. */
export const DECLARED_WITHIN_MS = 60_000;

export function createUndeclared(
  { clock, logger }: OperatorContext,
  list: () => readonly OrganisationResource[],
  /** Its condition is null while the resources were never listed. */
  readability: { condition(): ConditionUpdate | null },
) {
  const startedAt = clock.monotonic();
  const declared = new Map<string, string>();
  /** Since when events wait. A further change does not restart the time: two tools that change a manifest in turn would hold events without end. */
  const waiting = new Map<string, { since: number; isLate: boolean }>();

  function waits(resource: OrganisationResource): boolean {
    const { name, deletionTimestamp } = resource.metadata;
    if (deletionTimestamp !== undefined || declared.get(name) === versionOf(resource)) return false;
    const one = waiting.get(name) ?? { since: clock.monotonic(), isLate: false };
    waiting.set(name, one);
    if (clock.monotonic() - one.since < DECLARED_WITHIN_MS) return true;
    if (!one.isLate) logger.warn({ organisation: name }, 'webhooks of the manifest not declared in time, events are queued without them');
    one.isLate = true;
    return false;
  }

  return {
    /** The webhooks of this version of the manifest are declared, or cannot be. */
    declared(resource: OrganisationResource): void {
      declared.set(resource.metadata.name, versionOf(resource));
      waiting.delete(resource.metadata.name);
    },
    forget(id: string): void {
      declared.delete(id);
      waiting.delete(id);
    },
    /** Returns the organisations whose events wait; null while nothing is known, so that all events wait. */
    organisations(): string[] | null {
      if (readability.condition() === null) return clock.monotonic() - startedAt < DECLARED_WITHIN_MS ? null : [];
      return list()
        .filter(waits)
        .map(({ metadata }) => metadata.name);
    },
  };
}

const versionOf = ({ metadata }: OrganisationResource): string => `${metadata.uid}/${metadata.generation}`;
