/** The connection to Kubernetes, for the commands of `kubectl curbcut` and for `curbcut run`. */
import { waitNote, type CliContext, type Output } from '../commands/output.ts';
import { shellWord } from '../text-lines.ts';
import { createBudget } from '../service/budget.ts';
import { createKubectl, type Kubectl } from './kubectl.ts';

/** Prepares kubectl with the user's options. Runs nothing yet. */
export function connectKubectl(context: CliContext, { maxWaitSeconds, progress }: Pick<Output, 'maxWaitSeconds' | 'progress'>): Kubectl {
  return createKubectl({
    flags: context.kubectlFlags,
    environment: context.environment,
    signal: context.signal,
    sleep: context.sleep,
    monotonic: context.monotonic,
    budget: createBudget(maxWaitSeconds, context.monotonic),
    onWait: waitNote(progress),
  });
}

/** A command that the user can copy: with the options of kubectl that were given. */
export function commandLine({ kubectlFlags }: Pick<CliContext, 'kubectlFlags'>, ...words: string[]): string {
  return ['kubectl', 'curbcut', ...words, ...kubectlFlags.filter((flag) => !flag.startsWith('--token'))].map(shellWord).join(' ');
}
