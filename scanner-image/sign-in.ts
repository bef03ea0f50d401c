/** The credentials of a scan, which are read from files and sent to one origin only. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** HTTP basic authentication, or the value of a Cookie header, or both. */
export interface SignIn {
  basic?: { username: string; password: string };
  cookie?: string;
}

/**
 * Reads a sign-in from the files `username`, `password` and `cookie` in a folder.
 * @returns null if the folder or all of its files are missing
 * @throws Error if only one of `username` and `password` exists
 */
export async function readSignIn(folder: string): Promise<SignIn | null> {
  const [username, password, cookie] = await Promise.all(['username', 'password', 'cookie'].map((name) => readText(join(folder, name))));
  if ((username == null) !== (password == null))
    throw new Error(
      `The sign-in has ${username == null ? 'a password but no username' : 'a username but no password'}. Set both, or neither.`,
    );
  if (username == null && cookie == null) return null;
  return {
    ...(username != null && password != null ? { basic: { username, password } } : {}),
    ...(cookie != null ? { cookie } : {}),
  };
}

async function readText(file: string): Promise<string | null> {
  try {
    return (await readFile(file, 'utf8')).replace(/\r?\n$/, '');
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) return null;
    throw error;
  }
}

/** Returns a function that returns the headers with the credentials for a URL. For other origins they are empty. */
export function signInHeaders(signIn: SignIn | null, origin: string): (url: URL) => Record<string, string> {
  const headers: Record<string, string> = {};
  if (signIn?.basic !== undefined)
    headers.authorization = `Basic ${Buffer.from(`${signIn.basic.username}:${signIn.basic.password}`).toString('base64')}`;
  if (signIn?.cookie !== undefined) headers.cookie = signIn.cookie;
  return (url) => (url.origin === origin ? headers : {});
}

/** Splits the value of a Cookie header into cookies for an origin. */
export function cookiesOf(header: string, origin: string): { name: string; value: string; url: string }[] {
  return header.split(';').flatMap((pair) => {
    const at = pair.indexOf('=');
    const name = pair.slice(0, at).trim();
    return at < 1 || name === '' ? [] : [{ name, value: pair.slice(at + 1).trim(), url: `${origin}/` }];
  });
}
