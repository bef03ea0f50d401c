/** `curbcut completion SHELL`: prints the script by which a shell completes words. */
import { SCRIPTS, SHELLS } from '../completion/scripts.ts';
import { UsageError } from '../errors.ts';
import { COMPLETION_HELP } from './help.ts';
import { COMMON_OPTIONS, onlyArgument, parse, type CliContext } from './output.ts';

/** Runs the command. @returns its exit code @throws UsageError */
export function completion(args: readonly string[], context: CliContext): Promise<number> {
  const { values, positionals } = parse('completion', args, { help: COMMON_OPTIONS.help });
  if (values.help) {
    context.stdout.write(COMPLETION_HELP);
    return Promise.resolve(0);
  }
  const given = onlyArgument('completion', 'shell', positionals);
  const shell = SHELLS.find((name) => name === given);
  if (shell === undefined) throw new UsageError(`There is no completion for ${given}. Choose one of ${SHELLS.join(', ')}.`, 'completion');
  context.stdout.write(SCRIPTS[shell]);
  return Promise.resolve(0);
}
