/** Judges the target of a submission: the URL itself, then every address behind its name. */
import { judgeResolved, judgeUrl, literalAddress, URL_MAX_LENGTH, type TargetRefusal, type TargetRules } from '../../core/scan/targets.ts';
import type { ValidationItem } from '../errors.ts';
import type { Resolver } from '../../platform/resolver.ts';

export type TargetJudgement = { allowed: true; url: string } | { allowed: false; reason: TargetRefusal | 'too_long'; message: string };

/** @returns the URL as a browser writes it: what was judged is what will be scanned */
export async function judgeTarget(text: string, rules: TargetRules, resolver: Resolver): Promise<TargetJudgement> {
  const url = new URL(text);
  const judged = judgeUrl(url, rules);
  if (!judged.allowed) return judged;
  // Escaping can make a URL longer than what was sent.
  if (url.href.length > URL_MAX_LENGTH)
    return { allowed: false, reason: 'too_long', message: `url must have at most ${URL_MAX_LENGTH} characters when it is escaped.` };
  const literal = literalAddress(url.hostname);
  const addresses = literal !== null ? [literal] : await resolver.resolve(url.hostname);
  const resolved = judgeResolved(url, addresses, rules);
  return resolved.allowed ? { allowed: true, url: url.href } : resolved;
}

/** A refused target as an item of a validation error. */
export function targetItem(refusal: Extract<TargetJudgement, { allowed: false }>): ValidationItem {
  const type = refusal.reason === 'too_long' ? 'string.max_length' : (`url.${refusal.reason}` as const);
  return { loc: ['body', 'url'], msg: refusal.message, type };
}
