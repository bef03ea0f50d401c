/** A plain HTTP client for a Kubernetes API: the tests compare raw responses. */
import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:https';
import { parse } from 'yaml';

export interface Reply {
  code: number;
  body: Record<string, unknown>;
  text: string;
  headers: Record<string, string | string[] | undefined>;
}

export interface CallOptions {
  type?: string;
  accept?: string;
  /** Without the kubeconfig's token or certificate. */
  anonymous?: boolean;
  token?: string;
  /** The user to impersonate. */
  as?: string;
}

export interface Line {
  type: string;
  object: Record<string, unknown> & { metadata: Record<string, unknown> };
}

export interface Watch {
  /** The lines so far. */
  lines: Line[];
  /** Resolves with the lines once `enough` holds. @throws Error after ten seconds */
  until(enough: (lines: Line[]) => boolean): Promise<Line[]>;
  ended: Promise<void>;
  close(): void;
}

export interface Client {
  call(method: string, path: string, body?: unknown, options?: CallOptions): Promise<Reply>;
  watch(path: string, accept?: string): Watch;
  close(): void;
}

interface Kubeconfig {
  clusters: { cluster: Record<string, string> }[];
  users: { user: Record<string, string> }[];
}

const DEADLINE_MS = 60_000;

export function clientOf(kubeconfigPath: string): Client {
  const { clusters, users } = parse(readFileSync(kubeconfigPath, 'utf8')) as Kubeconfig;
  const cluster = clusters[0]?.cluster ?? {};
  const user = users[0]?.user ?? {};
  const pem = (from: Record<string, string>, name: string): Buffer | undefined => {
    if (from[`${name}-data`] !== undefined) return Buffer.from(from[`${name}-data`] ?? '', 'base64');
    return from[name] === undefined ? undefined : readFileSync(from[name]);
  };
  const tls = { ca: pem(cluster, 'certificate-authority'), cert: pem(user, 'client-certificate'), key: pem(user, 'client-key') };
  const agent = new Agent({ keepAlive: true, ...tls });
  const anonymous = new Agent({ ca: tls.ca });
  const server = cluster['server'] ?? '';

  const headersOf = (options: CallOptions, body?: string): Record<string, string> => {
    const token = options.anonymous === true ? undefined : (options.token ?? user['token']);
    return {
      accept: options.accept ?? 'application/json',
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...(options.as === undefined ? {} : { 'impersonate-user': options.as }),
      ...(body === undefined
        ? {}
        : { 'content-type': options.type ?? 'application/json', 'content-length': String(Buffer.byteLength(body)) }),
    };
  };

  return {
    call(method, path, body, options = {}) {
      const text = body === undefined ? undefined : typeof body === 'string' ? body : JSON.stringify(body);
      return new Promise((resolve, reject) => {
        const sent = request(
          `${server}${path}`,
          { method, agent: options.anonymous === true ? anonymous : agent, headers: headersOf(options, text) },
          (response) => {
            const chunks: Buffer[] = [];
            response.on('data', (chunk: Buffer) => chunks.push(chunk));
            response.on('error', reject);
            response.on('end', () => {
              const said = Buffer.concat(chunks).toString('utf8');
              const isJson = response.headers['content-type']?.startsWith('application/json') === true && !/[?&]watch=/.test(path);
              resolve({
                code: response.statusCode ?? 0,
                body: isJson ? (JSON.parse(said) as Record<string, unknown>) : {},
                text: said,
                headers: response.headers,
              });
            });
          },
        );
        sent.on('error', reject);
        sent.end(text);
      });
    },
    watch(path, accept) {
      const lines: Line[] = [];
      const listeners = new Set<() => void>();
      const ended = Promise.withResolvers<void>();
      let left = '';
      const sent = request(`${server}${path}`, { agent, headers: headersOf({ accept }) }, (response) => {
        response.setEncoding('utf8');
        response.on('data', (chunk: string) => {
          const parts = `${left}${chunk}`.split('\n');
          left = parts.pop() ?? '';
          for (const part of parts) if (part !== '') lines.push(JSON.parse(part) as Line);
          for (const listener of [...listeners]) listener();
        });
        response.on('error', () => undefined);
        response.on('close', () => ended.resolve());
      });
      sent.on('error', () => ended.resolve());
      sent.end();
      return {
        lines,
        ended: ended.promise,
        until: (enough) =>
          new Promise((resolve, reject) => {
            const timer = setTimeout(
              () => reject(new Error(`the watch ${path} did not show what was expected, but ${JSON.stringify(lines)}`)),
              DEADLINE_MS,
            );
            const look = (): void => {
              if (!enough(lines)) return;
              clearTimeout(timer);
              listeners.delete(look);
              resolve(lines);
            };
            listeners.add(look);
            look();
          }),
        close: () => sent.destroy(),
      };
    },
    close() {
      agent.destroy();
      anonymous.destroy();
    },
  };
}

/** Polls until `read` returns a value. @throws Error with `what` after ten seconds */
export async function eventually<T>(what: string, read: () => Promise<T | undefined>): Promise<T> {
  const deadline = Date.now() + DEADLINE_MS;
  for (;;) {
    const found = await read();
    if (found !== undefined) return found;
    if (Date.now() > deadline) throw new Error(`${what}: not within ${DEADLINE_MS} ms`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
