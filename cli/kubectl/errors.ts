/** What kubectl says when it fails, as one error with a reason. */
import { CliError, printable } from '../errors.ts';

/** kubectl failed. The message is kubectl's, without its prefixes. */
export class KubectlError extends CliError {
  /** The API server's reason, such as `NotFound` or `Forbidden`; null if it gave none. */
  readonly reason: string | null;
  /** Whether the same command may succeed later. */
  readonly temporary: boolean;
  constructor({ reason, temporary, lines }: { reason: string | null; temporary: boolean; lines: string[] }) {
    super(...lines);
    this.name = 'KubectlError';
    this.reason = reason;
    this.temporary = temporary;
  }
}

/** Reasons of the API server that pass. */
const TEMPORARY_REASONS = new Set(['ServiceUnavailable', 'TooManyRequests', 'Timeout', 'ServerTimeout', 'InternalError', 'Conflict']);
/** Failures of the connection that a retry does not cure: certificates, credentials, an address that is not configured. */
const PERMANENT_CONNECTION = /x509|getting credentials|tls:|localhost:8080|http: server gave HTTP response|Unauthorized/;
const CONNECTION =
  /^(Unable to connect to the server|The connection to the server|net\/http|http2|dial |read |unexpected EOF|context deadline)|connection refused|connection reset|i\/o timeout|TLS handshake timeout|Client\.Timeout|etcdserver/;
/** klog lines, which repeat the error for each attempt of kubectl. */
const LOG_LINE = /^[EWIF]\d{4} /;

/** What to do about a reason. */
const ADVICE: readonly [RegExp, string][] = [
  [
    /doesn't have a resource type|no matches for kind|could not find the requested resource/,
    'Curbcut is not installed in this cluster, or its version is too old: install or upgrade its chart.',
  ],
  [/localhost:8080/, 'kubectl has no cluster: set KUBECONFIG, or use --kubeconfig or --context.'],
];

/** Reads what kubectl printed to standard error. */
export function kubectlErrorOf(stderr: string, code: number | null): KubectlError {
  const lines = stderr.split('\n').map((line) => printable(line).trim()).filter((line) => line !== '' && !LOG_LINE.test(line) && !line.startsWith('Warning: ')); // prettier-ignore
  const said = lines.length === 0 ? `it ended with exit code ${String(code)} and gave no reason` : lines.join('\n');
  const [, , reason = null, message = said] = /^(Error from server|error: You must be logged in to the server)(?: \((\w+)\))?:? ?(.*)$/s.exec(said) ?? []; // prettier-ignore
  const found = reason ?? (/^The \w+ ".*" is invalid/.test(said) ? 'Invalid' : null);
  const text = (message === '' ? said : message).replace(/^(error: |error when creating "STDIN": )+/i, '');
  return new KubectlError({
    reason: found,
    temporary: found === null ? CONNECTION.test(said) && !PERMANENT_CONNECTION.test(said) : TEMPORARY_REASONS.has(found),
    lines: [`kubectl: ${text}${found === null || found === 'Invalid' || text.includes(`(${found})`) ? '' : ` (${found})`}`, ...ADVICE.filter(([pattern]) => pattern.test(said)).map(([, advice]) => advice)], // prettier-ignore
  });
}
