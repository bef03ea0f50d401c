/** `curbcut mcp`: a server of the Model Context Protocol, for coding agents. */
import { numberOf } from '../values.ts';
import { defineCommand } from './command.ts';
import { COMMON_OPTIONS } from './output.ts';

export const mcp = defineCommand(
  {
    description:
      'Serves tools for coding agents over standard input and output (Model Context Protocol): scan, check, causes, cause and rule.',
    // As agents register it.
    examples: `  claude mcp add curbcut -- curbcut mcp --local
  codex mcp add curbcut -- curbcut mcp`,
    exits: `  0    standard input has ended
  2    it could not be served: invalid arguments, …`,
  },
  {
    local: { meaning: 'scan with the Chromium of this machine by default, without a service or credits' },
    'max-wait': COMMON_OPTIONS['max-wait'],
  },
  async ({ values }, context) => {
    const { serve } = await import('../mcp/server.ts');
    await serve(context, values.local, numberOf('mcp', 'max-wait', values['max-wait'], false)!);
    return 0;
  },
);
