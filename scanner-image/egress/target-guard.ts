/** Judges every target before the scanner connects to it, and returns the addresses that may be dialled. */
import { judgeTarget, portOf, type Resolver, type TargetJudgement, type TargetRules } from '../../core/scan/targets.ts';
import type { OutboundProxy } from '../../platform/outbound-proxy.ts';
import { createResolver } from '../../platform/resolver.ts';
import type { EgressFailureKind } from './egress-failures.ts';

/** Limits of the egress proxy for one scan. */
export interface EgressLimits {
  /** The largest response over plain HTTP, in bytes. */
  responseBytes: number;
  /** The maximum number of bytes that one tunnel receives. Requests of many pages share a tunnel. */
  tunnelBytes: number;
  /** Concurrent connections from the browser. */
  connections: number;
  /** The idle time after which a connection is closed, in milliseconds. */
  idleMs: number;
  /** The time limit for connecting, in milliseconds. */
  dialMs: number;
  /** The largest headers of a request or response, in bytes. */
  headerBytes: number;
}

export const EGRESS_LIMITS: Readonly<EgressLimits> = {
  responseBytes: 64 * 1024 * 1024,
  tunnelBytes: 512 * 1024 * 1024,
  connections: 256,
  idleMs: 60_000,
  dialMs: 10_000,
  headerBytes: 64 * 1024,
};

/** What the connections of the proxy are judged by, and where their outcomes are recorded. */
export interface ConnectionDeps extends TargetGuard {
  limits: EgressLimits;
  proxy?: OutboundProxy;
  failed(url: URL, kind: EgressFailureKind, message: string): void;
  reached(url: URL): void;
}

/** How long a result is cached, in milliseconds. Failed lookups are cached for a tenth of it. */
const REMEMBER_MS = 60_000;
/** The maximum number of cached targets. Pages can invent host names, so memory is bounded. */
const REMEMBERED_MAX = 5_000;

/**
 * A guard that caches its result for each host and port, so that the judged address is the one that is dialled. A
 * name whose address changes (DNS rebinding) is judged again before the new address is used.
 */
export function createTargetGuard(rules: TargetRules, resolver: Resolver = createResolver()) {
  const known = new Map<string, { until: number; answer: Promise<TargetJudgement> }>();

  async function ask(url: URL): Promise<TargetJudgement> {
    const judged = await judgeTarget(url, rules, resolver);
    // A host that the rules name is allowed without an address, but cannot be dialled.
    if (judged.ok && judged.addresses.length === 0)
      return { ok: false, reason: 'unresolvable', message: `${url.hostname} cannot be resolved.` };
    return judged;
  }

  return {
    /** Judges the host and port of a URL. Never rejects. If the target is allowed, exactly the returned addresses may be dialled. */
    judge(url: URL): Promise<TargetJudgement> {
      const key = `${url.protocol}//${url.username === '' && url.password === '' ? '' : '@'}${url.hostname}:${portOf(url)}`;
      const remembered = known.get(key);
      if (remembered !== undefined && remembered.until > performance.now()) return remembered.answer;
      if (known.size > REMEMBERED_MAX) known.clear();
      const entry = { until: performance.now() + REMEMBER_MS, answer: ask(url) };
      known.set(key, entry);
      void entry.answer.then((answer) => {
        if (!answer.ok && (answer.reason === 'unresolvable' || answer.reason === 'dns_unavailable'))
          entry.until = performance.now() + REMEMBER_MS / 10;
      });
      return entry.answer;
    },
  };
}

export type TargetGuard = ReturnType<typeof createTargetGuard>;
