/** `curbcut login` and `curbcut logout`: store the address of a service and an API key, or remove them. */
import { rm } from 'node:fs/promises';
import { readEnvironment } from '../config.ts';
import { CliError, printable } from '../errors.ts';
import { loginFile, readLogin, writeLogin } from '../login-file.ts';
import { numberOf } from '../number-of.ts';
import { noProgress } from '../progress.ts';
import { createClient } from '../service/client.ts';
import { LOGIN_HELP, LOGOUT_HELP } from './help.ts';
import { command, COMMON_OPTIONS, noMoreArguments, waitNote, type CliContext } from './output.ts';

const OPTIONS = { 'max-wait': COMMON_OPTIONS['max-wait'], help: COMMON_OPTIONS.help } as const;

export const login = command('login', OPTIONS, LOGIN_HELP, async ({ values, positionals }, context) => {
  const [given, ...others] = positionals;
  noMoreArguments('login', others);
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
});

export const logout = command('logout', { help: COMMON_OPTIONS.help }, LOGOUT_HELP, async ({ positionals }, context) => {
  noMoreArguments('logout', positionals);
  await rm(fileOf(context), { force: true });
  context.stdout.write('Logged out. The API key is still valid: revoke it in the dashboard if nobody else uses it.\n');
  return 0;
});

function fileOf({ environment }: CliContext): string {
  const file = loginFile(environment);
  if (file === null) throw new CliError('There is no place to store a login: set HOME or XDG_CONFIG_HOME.');
  return file;
}
