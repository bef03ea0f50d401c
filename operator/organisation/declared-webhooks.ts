/**
 * The webhooks that an Organisation declares, with their secrets. The operator may not read Secrets: the chart mounts those that the
 * administrator lists, so an Organisation can name no other.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { DeclaredWebhookSpec, OrganisationResource } from '../../core/protocol/organisation-resources.ts';
import { isWebhookSecret } from '../../core/webhooks/signature.ts';
import { CREDITS_BELOW_DEFAULT } from '../../core/webhooks/webhooks.ts';
import type { ManifestVersion } from '../../stores/accounts/organisation-document.ts';
import type { AppliedWebhook, DeclaredWebhook } from '../../stores/webhooks/manifest-webhooks.ts';
import type { OperatorContext } from '../context.ts';
import type { ConditionUpdate } from '../runtime/conditions.ts';

export interface DeclaredWebhooks {
  wanted: readonly DeclaredWebhook[];
  /** The names of the others, which stay as they were applied before: their secret may be unreadable only for a moment. */
  kept: readonly string[];
  /** Why they cannot be applied, one sentence each. */
  problems: readonly string[];
}

/** The names of a Secret and its keys, which are parts of a path. */
const NAME = /^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$/;
const KEY = /^[-_a-zA-Z0-9][-._a-zA-Z0-9]*$/;
const DEFAULT_KEY = 'secret';

/** Whether this version of the manifest has declared what it can, and nothing else is left of another one. */
export function areApplied(
  { wanted, kept }: Pick<DeclaredWebhooks, 'wanted' | 'kept'>,
  applied: readonly AppliedWebhook[],
  version: ManifestVersion,
): boolean {
  const byName = new Map(applied.map(({ webhook }) => [webhook.name, webhook]));
  const names = new Set([...wanted.map(({ name }) => name), ...kept]);
  return (
    wanted.every((one) => isDeepStrictEqual(byName.get(one.name), one)) &&
    applied.every((one) => names.has(one.webhook.name) && isDeepStrictEqual(one.version, version))
  );
}

/** What can be applied while webhooks are off: nothing. Those that were applied before stay as they are. */
export function withoutWebhooks({ spec: { webhooks = [] } }: OrganisationResource): DeclaredWebhooks {
  const problems = webhooks.length === 0 ? [] : ['webhooks are off in this installation (webhooks.enabled of the chart)'];
  return { wanted: [], kept: webhooks.map(({ name }) => name), problems };
}

/** @param folder has a folder for each mounted Secret, with a file for each key. Null: none is mounted */
export async function readDeclaredWebhooks({ spec }: OrganisationResource, folder: string | null): Promise<DeclaredWebhooks> {
  const wanted: DeclaredWebhook[] = [];
  const kept: string[] = [];
  const problems: string[] = [];
  for (const declared of spec.webhooks ?? []) {
    const read = await secretOf(declared, folder);
    if (!read.ok) {
      kept.push(declared.name);
      problems.push(`webhook ${declared.name}: ${read.problem}`);
    } else {
      const { name, url, events, format = 'json', creditsBelow = CREDITS_BELOW_DEFAULT } = declared;
      wanted.push({ name, url, events, format, creditsBelow, secret: read.secret });
    }
  }
  return { wanted, kept, problems };
}

async function secretOf(
  { url, secretRef: { name, key = DEFAULT_KEY } }: DeclaredWebhookSpec,
  folder: string | null,
): Promise<{ ok: true; secret: string } | { ok: false; problem: string }> {
  // The pattern of the custom resource definition accepts addresses that do not parse. The address may contain a secret.
  if (!URL.canParse(url)) return { ok: false, problem: 'its url is not a URL' };
  const missing = `the Secret ${name} has no key ${key}, or is not in webhooks.secrets of the chart`;
  if (folder === null || !NAME.test(name) || !KEY.test(key)) return { ok: false, problem: missing };
  const text = await readFile(join(folder, name, key), 'utf8').catch(() => null);
  if (text === null) return { ok: false, problem: missing };
  const secret = text.trim();
  if (isWebhookSecret(secret)) return { ok: true, secret };
  return { ok: false, problem: `key ${key} of the Secret ${name} is not whsec_ and the Base64 form of 24 to 64 bytes` };
}

/** How long events wait at most, in milliseconds: other webhooks of the organisation must get them while its manifest is stuck. */
export const DECLARED_WITHIN_MS = 60_000;

/**
 * Which organisations have webhooks in their manifest that are not declared yet: the operator has just started, or the manifest has
 * changed. The events of these organisations wait, so that an interruption between the manifest and its webhooks loses none.
 */
export function createUndeclared(
  { clock, logger }: OperatorContext,
  list: () => readonly OrganisationResource[],
  /** Its condition is null while the resources were never listed. */
  readability: { condition(): ConditionUpdate | null },
) {
  const startedAt = clock.monotonic();
  const declared = new Map<string, string>();
  /** Since when events wait. A further change does not restart the time: two tools that change a manifest in turn would hold events without end. */
  const waiting = new Map<string, { since: number; isLate: boolean }>();

  function waits(resource: OrganisationResource): boolean {
    const { name, deletionTimestamp } = resource.metadata;
    if (deletionTimestamp !== undefined || declared.get(name) === versionOf(resource)) return false;
    const one = waiting.get(name) ?? { since: clock.monotonic(), isLate: false };
    waiting.set(name, one);
    if (clock.monotonic() - one.since < DECLARED_WITHIN_MS) return true;
    if (!one.isLate) logger.warn({ organisation: name }, 'webhooks of the manifest not declared in time, events are queued without them');
    one.isLate = true;
    return false;
  }

  return {
    /** The webhooks of this version of the manifest are declared, or cannot be. */
    declared(resource: OrganisationResource): void {
      declared.set(resource.metadata.name, versionOf(resource));
      waiting.delete(resource.metadata.name);
    },
    forget(id: string): void {
      declared.delete(id);
      waiting.delete(id);
    },
    /** Returns the organisations whose events wait; null while nothing is known, so that all events wait. */
    organisations(): string[] | null {
      if (readability.condition() === null) return clock.monotonic() - startedAt < DECLARED_WITHIN_MS ? null : [];
      return list()
        .filter(waits)
        .map(({ metadata }) => metadata.name);
    },
  };
}

const versionOf = ({ metadata }: OrganisationResource): string => `${metadata.uid}/${metadata.generation}`;
