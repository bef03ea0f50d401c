/** The address and the API key that `curbcut login` stores for the user. The environment precedes them. */
import { readFileSync, statSync } from 'node:fs';
import { mkdir, open, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { CliError, errorMessage } from './errors.ts';
import { parsedJson } from './json.ts';
import { baseOf } from './links.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** What is stored. */
export interface Login {
  url: string;
  /** Secret. */
  apiKey: string;
}

/** The variables of the environment that name a service. Empty ones are not set. */
export interface Connection {
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
export function connectionOf(environment: Environment): Connection {
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
