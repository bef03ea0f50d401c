/** Requests a run of a ScanSchedule, and waits until the operator has created its scan. */
import { GROUP, metadataAnnotations, metadataOf, SCHEDULES_PLURAL, type AccessibilityScan } from '../../core/protocol/custom-resources.ts';
import { RUN_ANNOTATION, SCHEDULE_LABEL, type ScanSchedule } from '../../core/protocol/scan-schedules.ts';
import type { Metadata } from '../../core/scan/metadata.ts';
import { CliError, ServiceUnavailable, UsageError } from '../errors.ts';
import { gaveUp } from '../service/budget.ts';
import { KubectlError } from './errors.ts';
import type { Kubectl } from './kubectl.ts';
import { isName, SCANS } from './scans.ts';

const SCHEDULES = `${SCHEDULES_PLURAL}.${GROUP}`;
/** The names of the kind before the slash, as kubectl accepts them. */
const KINDS = ['schedule', 'scanschedule', SCHEDULES_PLURAL, SCHEDULES];
/** A request that is not acted upon is looked at again after this time, so that the budget's end is noticed. */
const WAKE_MS = 10_000;

/** Reads `schedule/NAME`. @throws UsageError */
export function scheduleName(argument: string): string {
  const [kind, name, ...more] = argument.split('/');
  if (!KINDS.includes(kind!) || name === undefined || !isName(name) || more.length > 0)
    throw new UsageError(`${argument} is not a schedule: write schedule/NAME.`, 'run');
  return name;
}

/**
 * Requests a run with metadata, in place of that of an earlier request. The same token requests it once, however often it is sent.
 * @throws KubectlError
 */
export async function requestRun(
  kubectl: Kubectl,
  schedule: string,
  { token, metadata = {} }: { token: string; metadata?: Metadata },
): Promise<ScanSchedule> {
  const before = metadataOf(await kubectl.json<ScanSchedule>(['get', SCHEDULES, schedule]));
  const wanted = { [RUN_ANNOTATION]: token, ...metadataAnnotations(metadata) };
  const changes = [
    ...Object.entries(wanted).map(([name, value]) => `${name}=${value}`),
    ...Object.keys(metadataAnnotations(before)).flatMap((name) => (Object.hasOwn(wanted, name) ? [] : [`${name}-`])),
  ];
  return kubectl.json<ScanSchedule>(['annotate', SCHEDULES, schedule, ...changes, '--overwrite']);
}

/**
 * Waits until the operator has acted on the request, which the budget limits.
 * @param onNote called with each new reason for which it has not
 * @returns the scan of the run
 */
export async function awaitRun(
  kubectl: Kubectl,
  schedule: string,
  token: string,
  onNote: (text: string) => void,
): Promise<AccessibilityScan> {
  const { budget } = kubectl.options;
  let reason: string | null = null;
  let failures = 0;
  budget.start();
  for (;;) {
    try {
      for await (const { type, object } of kubectl.watch<ScanSchedule>(SCHEDULES, schedule, () => budget.limit(WAKE_MS))) {
        failures = 0;
        if (type === 'DELETED') throw new CliError(`The ScanSchedule ${schedule} was deleted.`);
        if (object.status?.lastRunRequest === token) return await scanOf(kubectl, schedule, token);
        const requested = object.metadata.annotations?.[RUN_ANNOTATION];
        if (requested !== token) throw new CliError(`Somebody requested another run of ${schedule} before the operator saw this one.`);
        const next = whyNot(object);
        budget.count();
        if (budget.left() === 0) throw new ServiceUnavailable(true, next ?? NO_OPERATOR, gaveUp(budget, 1, null));
        if (next !== null && next !== reason) onNote(next);
        reason = next;
      }
    } catch (error) {
      if (!(error instanceof KubectlError) || !error.temporary) throw error;
      failures += 1;
      await kubectl.backOff(error, failures);
    }
  }
}

const NO_OPERATOR = 'No operator has acted on the request: check that Curbcut runs in this cluster, and that it watches this namespace.';

/** Why a schedule does not run now; null if it may. */
function whyNot({ status }: ScanSchedule): string | null {
  const condition = (wanted: string) => status?.conditions?.find(({ type }) => type === wanted);
  const [ready, reconciling] = [condition('Ready'), condition('Reconciling')];
  if (ready?.status === 'False') return ready.message;
  return reconciling?.status === 'True' ? reconciling.message : null;
}

async function scanOf(kubectl: Kubectl, schedule: string, token: string): Promise<AccessibilityScan> {
  const { items } = await kubectl.json<{ items: AccessibilityScan[] }>(['get', SCANS, '-l', `${SCHEDULE_LABEL}=${schedule}`]);
  const found = items.find(({ metadata }) => metadata.annotations?.[RUN_ANNOTATION] === token);
  if (found === undefined) throw new CliError(`The run of ${schedule} was started, but its scan was deleted.`);
  return found;
}
