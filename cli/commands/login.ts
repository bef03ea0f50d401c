/** `curbcut login` and `curbcut logout`: store the address of a service and an API key, or remove them. */
import { rm } from 'node:fs/promises';
import { loginFile, readEnvironment, readLogin, writeLogin } from '../config.ts';
import { CliError, printable } from '../errors.ts';
import { numberOf } from '../values.ts';
import { noProgress } from '../progress.ts';
import { createClient } from '../service/client.ts';
import { defineCommand } from './command.ts';
import { COMMON_OPTIONS, waitNote, type CliContext } from './output.ts';

const OPTIONS = { 'max-wait': COMMON_OPTIONS['max-wait'] } as const;

export const login = defineCommand(
  {
    description:
      'Stores the address of the service and an API key for the commands on this machine, in curbcut/login.json below XDG_CONFIG_HOME (default: ~/.config), readable only by you. The key is read from the terminal, or from standard input, and checked with the service. CURBCUT_URL and CURBCUT_API_KEY in the environment precede what is stored; a stored key is sent only to its service, and one in the environment only to that of CURBCUT_URL.',
    examples: `  curbcut login https://curbcut.example.org
  pass show curbcut | curbcut login https://curbcut.example.org`,
    exits: `  0    the login was stored
  2    it was not: the key is not accepted, no network, …`,
  },
  OPTIONS,
  async ({ values, positionals }, context) => {
    const [given] = positionals;
    const maxWaitSeconds = numberOf('login', 'max-wait', values['max-wait'], false)!;
    const file = fileOf(context);
    const url = given ?? (context.environment.CURBCUT_URL || readLogin(context.environment)?.url);
    if (url === undefined) throw new CliError('Which service? Write its address: curbcut login https://curbcut.example.org');
    const key = (await context.readSecret('API key (it is not shown): ')).trim();
    if (key === '') throw new CliError('No API key was given. Create one in the dashboard, under API keys.');
    const { CURBCUT_URL: baseUrl, CURBCUT_API_KEY: apiKey } = readEnvironment({ CURBCUT_URL: url, CURBCUT_API_KEY: key });
    const client = createClient({ ...context, baseUrl, apiKey, maxWaitSeconds, onWait: waitNote(noProgress()) });
    const { organisation, permissions } = await client.me();
    await writeLogin(file, { url: baseUrl, apiKey });
    context.stdout.write(
      `Logged in to ${baseUrl} as ${printable(organisation.name)}, with ${printable(permissions.join(', ')) || 'no permissions'}.\n`,
    );
    for (const name of ['CURBCUT_URL', 'CURBCUT_API_KEY'])
      if (context.environment[name]) context.stderr.write(`${name} is set in the environment, which precedes what is stored.\n`);
    return 0;
  },
);

export const logout = defineCommand(
  {
    description: 'Removes what curbcut login has stored. The API key stays valid until somebody revokes it.',
    examples: `  curbcut logout`,
    exits: `  0    nothing is stored any more
  2    it could not be removed`,
  },
  {},
  async (_given, context) => {
    await rm(fileOf(context), { force: true });
    context.stdout.write('Logged out. The API key is still valid: revoke it in the dashboard if nobody else uses it.\n');
    return 0;
  },
);

function fileOf({ environment }: CliContext): string {
  const file = loginFile(environment);
  if (file === null) throw new CliError('There is no place to store a login: set HOME or XDG_CONFIG_HOME.');
  return file;
}
