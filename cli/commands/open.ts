/** `curbcut open [ID]`: prints the address of a scan in the dashboard, and opens it where there is a display. */
import { spawn } from 'node:child_process';
import { dashboardLink } from '../links.ts';
import { LATEST, resolveReference } from '../service/scan-reference.ts';
import { defineCommand } from './command.ts';
import { COMMON_OPTIONS, outputOf, type CliContext } from './output.ts';
import { connect } from './service.ts';

const OPTIONS = { 'max-wait': COMMON_OPTIONS['max-wait'] } as const;

export const open = defineCommand(
  {
    description:
      'Prints the address of a scan in the dashboard, of the latest one without ID. Opens it in the browser if there is a display.',
    examples: `  curbcut open
  curbcut open 3f2b8c1e`,
    exits: `  0    the address was printed
  2    there is no such scan, or no service`,
  },
  OPTIONS,
  async ({ values, positionals }, context) => {
    const [name = LATEST] = positionals;
    const output = outputOf('open', { ...values, json: false, quiet: false }, context);
    const client = connect(context, output);
    const link = dashboardLink(client.options.baseUrl, await resolveReference(client, name, output.progress.note))!;
    context.stdout.write(`${link}\n`);
    const program = opener(context.environment);
    if (program !== null) await started(program, link, context);
    return 0;
  },
);

/** The program that opens an address in the user's browser; null without a display. */
function opener({ DISPLAY: x11, WAYLAND_DISPLAY: wayland }: CliContext['environment']): string | null {
  if (process.platform === 'darwin') return 'open';
  return x11 || wayland ? 'xdg-open' : null;
}

/** Starts the program, which outlives this command. The address is printed, so a failure is only a notice. */
function started(program: string, link: string, { environment, stderr }: CliContext): Promise<void> {
  return new Promise((resolve) => {
    const child = spawn(program, [link], { env: environment, detached: true, stdio: 'ignore' });
    child.once('error', ({ message }) => {
      stderr.write(`The browser was not opened: ${message}\n`);
      resolve();
    });
    child.once('spawn', () => {
      child.unref();
      resolve();
    });
  });
}
