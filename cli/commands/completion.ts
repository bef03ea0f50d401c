/** `curbcut completion SHELL`: prints the script by which a shell completes words. */
import { SCRIPTS, SHELLS } from '../completion/scripts.ts';
import { UsageError } from '../errors.ts';
import { defineCommand } from './command.ts';

export const completion = defineCommand(
  {
    description:
      'Prints the script by which a shell completes commands, options, their values, and scans with Tab. Scans are those of the service that curbcut login or the environment names; without one they are left out.',
    examples: `  eval "$(curbcut completion bash)"       in ~/.bashrc
  eval "$(curbcut completion zsh)"        in ~/.zshrc, after compinit
  curbcut completion fish >~/.config/fish/completions/curbcut.fish`,
    exits: `  0    the script was printed
  2    there is no script for this shell`,
  },
  {},
  async ({ positionals }, context) => {
    const [given] = positionals as [string];
    const shell = SHELLS.find((name) => name === given);
    if (shell === undefined) throw new UsageError(`There is no completion for ${given}. Choose one of ${SHELLS.join(', ')}.`, 'completion');
    context.stdout.write(SCRIPTS[shell]);
    return 0;
  },
);
