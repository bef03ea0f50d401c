/** A browser without scripts: keeps cookies, reads forms, and posts them. */
import { expect } from 'chai';
import { request as undici, type Dispatcher } from 'undici';
import { recordErrors } from './contract.ts';

export interface PageAnswer {
  status: number;
  headers: Headers;
  text: string;
}

export interface Client {
  cookies: Map<string, string>;
  get(path: string, headers?: Record<string, string>): Promise<PageAnswer>;
  /** Posts a form with the CSRF token of a page, which is read first. @param from default: the path */
  submit(path: string, fields: Record<string, string>, from?: string): Promise<PageAnswer>;
  /** Posts exactly these fields. */
  post(path: string, fields: Record<string, string>, headers?: Record<string, string>): Promise<PageAnswer>;
  request(method: string, path: string, init?: { headers?: Record<string, string>; body?: string }): Promise<PageAnswer>;
  /** Signs in with a password. */
  signIn(email: string, password: string): Promise<void>;
}

/** The CSRF token of the first form of a page that has one. */
export function tokenIn(page: string): string {
  return /name="_csrf" value="([^"]+)"/.exec(page)?.[1] ?? '';
}

/** @param always headers of every request */
export function createClient(baseUrl: string, always: Record<string, string> = {}): Client {
  const cookies = new Map<string, string>();

  async function request(method: string, path: string, { headers = {}, body }: { headers?: Record<string, string>; body?: string } = {}) {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    // Not `fetch`, which says that a script sent the request.
    const response = await undici(baseUrl + path, {
      method: method as Dispatcher.HttpMethod,
      headers: { Accept: 'text/html', ...always, ...(cookie !== '' && { Cookie: cookie }), ...headers },
      body,
    });
    const answered = new Headers();
    for (const [name, value] of Object.entries(response.headers)) for (const one of [value ?? []].flat()) answered.append(name, one);
    for (const line of answered.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      if (value === '') cookies.delete(name);
      else cookies.set(name, value);
    }
    const text = await response.body.text();
    if (answered.get('content-type')?.includes('json')) recordErrors(JSON.parse(text));
    return { status: response.statusCode, headers: answered, text };
  }

  const post: Client['post'] = (path, fields, headers = {}) =>
    request('POST', path, {
      headers: { 'Content-Type': 'application/x-www-form-urlencoded', ...headers },
      body: new URLSearchParams(fields).toString(),
    });

  const client: Client = {
    cookies,
    request,
    post,
    get: (path, headers) => request('GET', path, { headers }),
    async submit(path, fields, from = path) {
      const page = await request('GET', from);
      return post(path, { _csrf: tokenIn(page.text), ...fields });
    },
    async signIn(email, password) {
      const answer = await client.submit('/dashboard/sign-in', { email, password });
      expect(answer.status, answer.text.slice(0, 2000)).to.equal(303);
    },
  };
  return client;
}
