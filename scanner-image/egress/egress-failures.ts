/** Records which targets failed and why, so that the failure of a page has a reason instead of a browser error code. */
import { portOf, type TargetRefusal } from '../../core/scan/targets.ts';
import { errorMessage } from '../../platform/errors.ts';

/** `refused` by the target rules, `unresolvable` name, `unreachable` host, or `cut` off at a size limit. */
export type EgressFailureKind = 'refused' | 'unresolvable' | 'unreachable' | 'cut';

export interface EgressFailure {
  kind: EgressFailureKind;
  message: string;
}

export interface EgressFailures {
  /** Records a failure. Returns true the first time for this host, port and kind. */
  add(url: URL, kind: EgressFailureKind, message: string): boolean;
  /** Removes the failures of a URL and its target, because it was reached. */
  reached(url: URL): void;
  /** The failure of the last request for the URL, or else of the last attempt to reach its host and port, if it failed. */
  failureOf(url: URL): EgressFailure | undefined;
}

/** A response header that only the proxy may set, in responses of its own. The value is the kind of the failure. */
export const EGRESS_HEADER = 'x-curbcut-egress';

/** Pages can invent host names, so memory is bounded. */
const MAX_TARGETS = 1000;
const MAX_KEPT = 2 * MAX_TARGETS;

export function kindOf(reason: TargetRefusal): EgressFailureKind {
  return reason === 'unresolvable' || reason === 'dns_unavailable' ? 'unresolvable' : 'refused';
}

export function createEgressFailures(): EgressFailures {
  const reported = new Set<string>();
  /** By target, and by URL: another request to the same target may succeed meanwhile. */
  const latest = new Map<string, EgressFailure>();
  const targetOf = (url: URL): string => `${hostOf(url)}:${portOf(url)}`;
  const keep = (key: string, failure: EgressFailure): void => {
    if (latest.size < MAX_KEPT || latest.has(key)) latest.set(key, failure);
  };
  return {
    add(url, kind, message) {
      const target = targetOf(url);
      keep(target, { kind, message });
      keep(url.href, { kind, message });
      const key = `${kind} ${target}`;
      if (reported.has(key) || reported.size >= MAX_TARGETS) return false;
      reported.add(key);
      return true;
    },
    reached(url) {
      latest.delete(targetOf(url));
      latest.delete(url.href);
    },
    failureOf: (url) => latest.get(url.href) ?? latest.get(targetOf(url)),
  };
}

/** The host of a URL for sockets: without the brackets of IPv6. */
export function hostOf(url: URL): string {
  return url.hostname.replace(/^\[|\]$/g, '');
}

/** The code of a network error, such as `ECONNREFUSED`, or its message. */
export function codeOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return codeOf(error.errors[0]);
  return (error as NodeJS.ErrnoException).code ?? errorMessage(error);
}
