/**
 * Headers and certificates of the requests to the Kubernetes API, kept fresh. `KubeConfig` reads token files, runs
 * credential plug-ins and renews OIDC tokens; this file decides when to ask it again, and explains its errors.
 */
import type { RequestOptions } from 'node:https';
import { errorMessage } from '../errors.ts';
import { withTimeLimit } from '../time-limits.ts';
import type { ExecEntry, LoadedConfig } from './kubeconfig.ts';

/** Options of the TLS connection; a change of them needs a new one. */
export type Tls = Pick<RequestOptions, 'ca' | 'cert' | 'key' | 'servername' | 'rejectUnauthorized'>;

export interface Authentication {
  headers: Record<string, string | string[]>;
  tls: Tls;
}

export interface Credentials {
  /** @throws Error that names the credential file or the plug-in that failed */
  current(): Promise<Authentication>;
  /** The server refused the last ones: the next `current` loads everything again. */
  renew(): void;
}

/**
 * How long an answer of KubeConfig is used, in milliseconds. It reads certificate files each time, token files once a
 * minute, as client-go does, and it runs a plug-in again when its credential has expired.
 */
const FRESH_MS = 30_000;
/** For a plug-in that hangs: KubeConfig would wait for it forever. */
const LIMIT_MS = 60_000;

/** @param reload reads the configuration again: a new KubeConfig has no tokens in memory */
export function createCredentials(initial: LoadedConfig, reload: () => LoadedConfig): Credentials {
  let loaded: LoadedConfig | null = initial;
  let latest: { authentication: Promise<Authentication>; at: number } | null = null;

  function renew() {
    loaded = null;
    latest = null;
  }

  return {
    renew,
    current() {
      if (latest && Date.now() - latest.at < FRESH_MS) return latest.authentication;
      // Counts as fresh while it is under way: each call of KubeConfig would start a plug-in of its own.
      const entry = { authentication: authenticate((loaded ??= reload())), at: Infinity };
      latest = entry;
      entry.authentication.then(
        () => {
          entry.at = Date.now();
        },
        () => {
          // KubeConfig keeps what a plug-in printed, even if it is not a credential.
          if (latest === entry) renew();
        },
      );
      return entry.authentication;
    },
  };
}

async function authenticate({ kubeConfig, headers: added, exec }: LoadedConfig): Promise<Authentication> {
  if (exec?.interactiveMode === 'Always') {
    throw new Error(`the credential plug-in ${exec.command} needs a terminal (interactiveMode: Always)`);
  }
  const options: RequestOptions = {};
  try {
    await withTimeLimit(kubeConfig.applyToHTTPSOptions(options), LIMIT_MS, 'authentication to the Kubernetes API');
  } catch (error) {
    throw explain(error as NodeJS.ErrnoException, exec);
  }
  const { ca, cert, key, servername, rejectUnauthorized, auth } = options;
  const headers: Authentication['headers'] = { ...added };
  if (auth) headers['authorization'] = `Basic ${Buffer.from(auth).toString('base64')}`;
  // A token file may end with a line break, which a header must not.
  for (const [name, value] of Object.entries(options.headers ?? {})) headers[name.toLowerCase()] = String(value).trim();
  return { headers, tls: { ca, cert, key, servername, rejectUnauthorized } };
}

function explain(error: NodeJS.ErrnoException, exec: ExecEntry | undefined): Error {
  if (error.syscall === 'open') return new Error(`the credential file ${error.path} cannot be read: ${error.message}`, { cause: error });
  if (!exec) return error;
  const hint = error.code === 'ENOENT' && exec.installHint ? ` (${exec.installHint.trim()})` : '';
  // What the plug-in printed may be a secret, and an error of JSON.parse quotes it.
  const unreadable = error instanceof SyntaxError || error instanceof TypeError;
  const why = unreadable ? 'it did not print JSON with a credential' : errorMessage(error).trim() || 'it printed no error';
  return new Error(`the credential plug-in ${exec.command} failed: ${why}${hint}`);
}
