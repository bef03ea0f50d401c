/** Sends one request to an endpoint. Its address is judged like the target of a scan, and only judged addresses are dialled. */
import { Agent, ProxyAgent, request } from 'undici';
import { judgeTarget, type Resolver, type TargetRules } from '../../core/scan/targets.ts';
import { aboutAddress } from '../../core/webhooks/webhooks.ts';
import { proxyFor, type OutboundProxy } from '../../platform/outbound-proxy.ts';
import { pinnedLookup } from '../../platform/resolver.ts';
import type { AttemptEnd } from '../../stores/outbox/entries.ts';

/** The time limit of a request, with its answer, in milliseconds. */
export const REQUEST_MS = 10_000;
/** What is kept of an answer's body, in characters, and what is read of it, in bytes. */
export const RESPONSE_MAX = 200;
const READ_MAX = 4 * 1024;

/** `refused`: an answer that is not 2xx. `disallowed`: the target rules forbid the address. */
export const POST_OUTCOMES = ['delivered', 'refused', 'unreachable', 'disallowed'] as const;
export type PostOutcome = (typeof POST_OUTCOMES)[number];

export interface Posted {
  outcome: PostOutcome;
  attempt: AttemptEnd;
}

export type Post = (url: string, headers: Record<string, string>, body: string) => Promise<Posted>;

export interface PostDeps {
  rules: TargetRules;
  resolver: Resolver;
  userAgent: string;
  /** The proxy to endpoints. It resolves their names itself, after they were judged here. Default: none. */
  proxy?: OutboundProxy;
  timeoutMs?: number;
}

/** Creates the function that sends. It never rejects, and follows no redirects. */
export function createPost({ rules, resolver, userAgent, proxy, timeoutMs = REQUEST_MS }: PostDeps): Post {
  return async (url, headers, body) => {
    const began = performance.now();
    const failed = (outcome: PostOutcome, error: string): Posted => ({
      outcome,
      attempt: { durationMs: Math.round(performance.now() - began), statusCode: null, error, response: null },
    });
    if (!URL.canParse(url)) return failed('disallowed', 'The address of the webhook is not a URL.');
    const target = new URL(url);
    const judged = await judgeTarget(target, rules, resolver);
    if (!judged.ok) return failed(judged.reason === 'unresolvable' || judged.reason === 'dns_unavailable' ? 'unreachable' : 'disallowed', aboutAddress(judged.message)); // prettier-ignore
    if (judged.addresses.length === 0) return failed('unreachable', `${target.hostname} cannot be resolved.`);
    // A connection of its own: another name may have other judged addresses.
    const connect = { lookup: pinnedLookup(judged.addresses), autoSelectFamily: true, timeout: timeoutMs };
    const via = proxyFor(proxy, target);
    const dispatcher =
      via === null
        ? new Agent({ connect, connections: 1, allowH2: false })
        : new ProxyAgent({ uri: via.href, proxyTunnel: true, connectTimeout: timeoutMs, allowH2: false });
    const signal = AbortSignal.timeout(timeoutMs);
    try {
      const sent = { 'content-type': 'application/json', 'user-agent': userAgent, 'accept-encoding': 'identity', ...headers };
      const answer = await request(target, { method: 'POST', dispatcher, signal, headers: sent, body });
      const response = await beginningOf(answer.body);
      const { statusCode } = answer;
      const ok = statusCode >= 200 && statusCode < 300;
      const error = ok
        ? null
        : statusCode >= 300 && statusCode < 400
          ? 'Redirects are not followed.'
          : `The endpoint answered ${statusCode}.`;
      const attempt = { durationMs: Math.round(performance.now() - began), statusCode, error, response };
      return { outcome: ok ? 'delivered' : 'refused', attempt };
    } catch (error) {
      return failed('unreachable', failureOf(error, timeoutMs));
    } finally {
      await dispatcher.destroy().catch(() => undefined);
    }
  };
}

/** Reads the beginning of a body. An endpoint that sends the rest slowly, or never, has answered all the same. */
async function beginningOf(body: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  try {
    for await (const chunk of body) {
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes >= READ_MAX) break;
    }
  } catch {
    // The status has arrived; the rest of the body is not needed.
  }
  return Buffer.concat(chunks).toString('utf8').replaceAll('\0', '').slice(0, RESPONSE_MAX).toWellFormed();
}

/** In words that name no address, because those of a private network are nobody's business. */
function failureOf(error: unknown, timeoutMs: number): string {
  const { name, code = 'unknown' } = error as { name?: string; code?: string };
  if (name === 'TimeoutError' || code === 'UND_ERR_CONNECT_TIMEOUT' || code === 'ETIMEDOUT')
    return `The endpoint did not answer within ${timeoutMs / 1000} s.`;
  if (code === 'ECONNREFUSED') return 'The endpoint refused the connection.';
  if (code === 'ECONNRESET' || code === 'UND_ERR_SOCKET') return 'The endpoint closed the connection.';
  if (/CERT|ALTNAME|UNABLE_TO_VERIFY/.test(code)) return `The certificate of the endpoint is not accepted (${code}).`;
  if (error instanceof Error && error.message.startsWith('Proxy response'))
    return 'The outbound proxy of this installation refused the connection.';
  return `The request failed (${code}).`;
}
