/** `curbcut completion SHELL`: prints the script by which a shell completes words. */
import { SCRIPTS, SHELLS } from '../completion/scripts.ts';
import { UsageError } from '../errors.ts';
import { COMPLETION_HELP } from './help.ts';
import { command, COMMON_OPTIONS, onlyArgument } from './output.ts';

export const completion = command('completion', { help: COMMON_OPTIONS.help }, COMPLETION_HELP, async ({ positionals }, context) => {
  const given = onlyArgument('completion', 'shell', positionals);
  const shell = SHELLS.find((name) => name === given);
  if (shell === undefined) throw new UsageError(`There is no completion for ${given}. Choose one of ${SHELLS.join(', ')}.`, 'completion');
  context.stdout.write(SCRIPTS[shell]);
  return 0;
});
