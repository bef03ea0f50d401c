/**
 * Headers and certificates for requests to the Kubernetes API. `KubeConfig` reads token files, runs credential plug-ins
 * and renews OIDC tokens; this file decides when to call it again, and explains its errors.
 */
import type { RequestOptions } from 'node:https';
import { errorMessage } from '../errors.ts';
import { withTimeLimit } from '../time-limits.ts';
import type { ExecEntry, LoadedConfig } from './kubeconfig.ts';

/** Options of the TLS connection. A change needs a new connection. */
export type Tls = Pick<RequestOptions, 'ca' | 'cert' | 'key' | 'servername' | 'rejectUnauthorized'>;

export interface Authentication {
  headers: Record<string, string | string[]>;
  tls: Tls;
}

export interface Credentials {
  /** @throws Error that names the credential file or the plug-in that failed */
  current(): Promise<Authentication>;
  /** Call this when the server rejects the credentials: the next `current` loads everything again. */
  renew(): void;
}

/**
 * How long a result of KubeConfig is used, in milliseconds. KubeConfig reads certificate files on each call and token
 * files once per minute, as client-go does, and it runs a plug-in again when its credential has expired.
 */
const FRESH_MS = 30_000;
/** The time limit of a plug-in, in milliseconds. KubeConfig itself would wait forever. */
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
      // Shared while it is pending, because each call of KubeConfig would start its own plug-in process.
      const entry = { authentication: authenticate((loaded ??= reload())), at: Infinity };
      latest = entry;
      entry.authentication.then(
        () => {
          entry.at = Date.now();
        },
        () => {
          // KubeConfig caches the output of a plug-in, even if it is not a credential.
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
  // The output of the plug-in may be a secret, and an error of JSON.parse quotes it.
  const unreadable = error instanceof SyntaxError || error instanceof TypeError;
  const why = unreadable ? 'it did not print JSON with a credential' : errorMessage(error).trim() || 'it printed no error';
  return new Error(`the credential plug-in ${exec.command} failed: ${why}${hint}`);
}
