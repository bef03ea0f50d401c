/** The environment variables of the command line. */
import { readFileSync, statSync } from 'node:fs';
import { mkdir, open, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { CliError, errorMessage } from './errors.ts';
import { parsedJson } from './values.ts';
import { baseOf } from './links.ts';

/** The address and the API key that `curbcut login` stores for the user. The environment precedes them. */
type Environment = Readonly<Record<string, string | undefined>>;

/** What is stored. */
interface Login {
  url: string;
  /** Secret. */
  apiKey: string;
}

/** The variables of the environment that name a service. Empty ones are not set. */
interface Connection {
  CURBCUT_URL?: string;
  CURBCUT_API_KEY?: string;
}

const ONLY_OWNER = 0o600;

/** Where the login is stored (XDG base directories). Null: there is no home directory. */
export function loginFile({ XDG_CONFIG_HOME: config, HOME: home }: Environment): string | null {
  const folder = config?.startsWith('/') ? config : home ? join(home, '.config') : null;
  return folder && join(folder, 'curbcut', 'login.json');
}

/** Null if there is none. @throws CliError if it cannot be used, or others may read it */
export function readLogin(environment: Environment): Login | null {
  const file = loginFile(environment);
  if (file === null) return null;
  let text: string;
  let mode: number;
  try {
    [text, mode] = [readFileSync(file, 'utf8'), statSync(file).mode];
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) return null;
    throw new CliError(`The login in ${file} cannot be read: ${errorMessage(error)}.`);
  }
  if ((mode & 0o077) !== 0) throw new CliError(`Other users may read the API key in ${file}.`, `Run: chmod 600 ${file}`);
  const login = parsedJson(text) as Partial<Login> | null;
  if (typeof login?.url === 'string' && typeof login.apiKey === 'string') return { url: login.url, apiKey: login.apiKey };
  throw new CliError(`${file} is not a login of this command.`, 'Run: curbcut logout, then curbcut login');
}

/**
 * The service and the key: of the environment, or of the login if the environment has no key. A key is used only for the service that it
 * was stored for, and one of the environment only for the service of the environment. @throws CliError if the login cannot be used
 */
function connectionOf(environment: Environment): Connection {
  const { CURBCUT_URL: url = '', CURBCUT_API_KEY: key = '' } = environment;
  if (key !== '') return { ...(url !== '' && { CURBCUT_URL: url }), CURBCUT_API_KEY: key };
  const login = readLogin(environment);
  if (login !== null && (url === '' || baseOf(url) === baseOf(login.url)))
    return { CURBCUT_URL: url || login.url, CURBCUT_API_KEY: login.apiKey };
  return url === '' ? {} : { CURBCUT_URL: url };
}

/** Stores a login, readable only by the user. @throws CliError */
export async function writeLogin(file: string, login: Login): Promise<void> {
  const part = `${file}.${process.pid}.part`;
  try {
    await mkdir(dirname(file), { recursive: true, mode: 0o700 });
    // Never an existing file, whose mode would stay.
    await rm(part, { force: true });
    const handle = await open(part, 'wx', ONLY_OWNER);
    try {
      await handle.writeFile(`${JSON.stringify(login, null, 2)}\n`);
    } finally {
      await handle.close();
    }
    await rename(part, file);
  } catch (error) {
    throw new CliError(`The login cannot be stored in ${file}: ${errorMessage(error)}.`);
  } finally {
    await rm(part, { force: true });
  }
}

interface Variable {
  valid(value: string): boolean;
  /** Completes the sentence "… must be". */
  expected: string;
  /** Whether a value must not be printed. */
  secret(value: string): boolean;
}

/** fetch rejects an address with a user name or password, which would also appear in every message about the service. */
const hasCredentials = (address: string): boolean => /^[a-z]+:\/\/[^/?#]*@/i.test(address);

/** Whether a secret can be sent in a header. fetch rejects others, such as one with a line break, with a message that contains it. */
export const canBeHeader = (secret: string): boolean => /^[\x21-\x7e]+$/.test(secret);

const VARIABLES = {
  CURBCUT_URL: {
    valid: (address) => /^https?:\/\/\S+$/.test(address) && URL.canParse(address) && !hasCredentials(address),
    expected: 'the address of a Curbcut service without a user name or password, such as https://curbcut.example.org',
    secret: hasCredentials,
  },
  CURBCUT_API_KEY: {
    valid: canBeHeader,
    expected: 'an API key of your organisation (svc_live_…)',
    secret: () => true,
  },
} as const satisfies Record<string, Variable>;

function problemOf(name: string, { valid, expected, secret }: Variable, value: string | undefined): string[] {
  if (value === undefined || value === '') return [`${name} is not set; it must be ${expected}.`];
  if (valid(value)) return [];
  return [`${name} is ${secret(value) ? '(hidden)' : JSON.stringify(value)}; it must be ${expected}.`];
}

/** The service's address and the API key, of the environment or of `curbcut login`. @throws CliError that names every variable to set */
export function readEnvironment(environment: Record<string, string | undefined>): Record<keyof typeof VARIABLES, string> {
  const found = connectionOf(environment);
  const problems = Object.entries(VARIABLES).flatMap(([name, variable]) =>
    problemOf(name, variable, found[name as keyof typeof VARIABLES]),
  );
  const onlyKey = environment.CURBCUT_API_KEY && !environment.CURBCUT_URL;
  if (problems.length > 0)
    throw new CliError(
      ...problems,
      'Set the variables in the environment (in CI: as secrets), for example: export CURBCUT_URL=https://… CURBCUT_API_KEY=svc_live_…',
      'Or store them on this machine: curbcut login https://…',
      ...(onlyKey
        ? ['The key in CURBCUT_API_KEY is not sent to the service of curbcut login: set CURBCUT_URL too, or unset the key.']
        : []),
      'If you use `make run`: . .curbcut/env',
    );
  return { CURBCUT_URL: found.CURBCUT_URL!, CURBCUT_API_KEY: found.CURBCUT_API_KEY! };
}
