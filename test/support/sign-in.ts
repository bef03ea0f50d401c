/** Signs in to the dashboard as a browser without scripts does: by the form of its page. */
import { request } from 'undici';

interface Answer {
  status: number;
  text: string;
}

export interface SignedIn {
  /** The cookies, as a Cookie header. */
  cookie: string;
  get(path: string): Promise<Answer>;
  /** Reads the page at `from`, and posts these fields with its CSRF token. @param from default: the path */
  submit(path: string, fields: Readonly<Record<string, string>>, from?: string): Promise<Answer>;
}

/** @throws unless the sign-in succeeds */
export async function signIn(origin: string, { email, password }: { email: string; password: string }): Promise<SignedIn> {
  const cookies = new Map<string, string>();
  const header = (): string => [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
  // Not `fetch`, which says that a script sent the request.
  const send = async (method: 'GET' | 'POST', path: string, body?: string): Promise<Answer> => {
    const type = body === undefined ? {} : { 'content-type': 'application/x-www-form-urlencoded' };
    const answer = await request(origin + path, { method, body, headers: { accept: 'text/html', cookie: header(), ...type } });
    for (const line of [answer.headers['set-cookie'] ?? []].flat()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(line)!;
      cookies.set(name!, value!);
    }
    return { status: answer.statusCode, text: await answer.body.text() };
  };
  const get = (path: string): Promise<Answer> => send('GET', path);
  const submit: SignedIn['submit'] = async (path, fields, from = path) => {
    const token = /name="_csrf" value="([^"]+)"/.exec((await get(from)).text)?.[1] ?? '';
    return send('POST', path, new URLSearchParams({ _csrf: token, ...fields }).toString());
  };
  const answer = await submit('/dashboard/sign-in', { email, password });
  if (answer.status !== 303) throw new Error(`sign-in: ${answer.status} ${answer.text.slice(0, 2000)}`);
  return { cookie: header(), get, submit };
}
