/** What the owners of an organisation learn about rights in it: mails, and the entry about the keys of a person whose role ended. */
import { randomUUID } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import type { ApiKey } from '../../stores/accounts/keys.ts';
import type { MailData } from '../../stores/outbox/mails.ts';
import type { AllStores } from '../../stores/stores.ts';
import { uuidOf } from '../../core/uuid.ts';
import { KEYS_PATH, MEMBERS_PATH } from '../../core/web-paths.ts';

export interface OwnerNotices {
  stores: Pick<AllStores, 'members' | 'organisations' | 'outbox' | 'keys'>;
  /** Whether mails are sent. */
  mail: boolean;
  /** Reports that owners were not told. What they should learn has happened, so nothing fails. */
  lost(error: unknown): void;
}

/** `once`: of several notices with the same one, the first is mailed. */
type Notice = Omit<MailData['owner_notice'], 'organisation'> & { once?: string };

export const noticesOf = ({ id: request, server: { stores, settings, logger } }: FastifyRequest): OwnerNotices => ({
  stores,
  mail: settings.mail,
  lost: (err) => logger.error({ request, err }, 'owners not told'),
});

/** Mails every owner of an organisation, if mail is configured. */
export async function tellOwners({ stores, mail, lost }: OwnerNotices, organisation: string, notice: Notice): Promise<void> {
  const { once = randomUUID(), ...about } = notice;
  if (!mail) return;
  try {
    const { displayName = organisation } = (await stores.organisations.find(organisation)) ?? {};
    const owners = (await stores.members.list(organisation)).filter(({ role }) => role === 'owner');
    for (const { email: to } of owners) {
      const mailed = { kind: 'owner_notice', to, locale: 'en', organisation, data: { ...about, organisation: displayName } } as const;
      await stores.outbox.enqueue({ ...mailed, id: `owner-notice:${uuidOf(JSON.stringify([once, to]))}` });
    }
  } catch (error) {
    lost(error);
  }
}

/**
 * Says that the live keys of a person work on with at most the present or last role, to the audit log and to the owners.
 * @param actor as the audit log names it @returns the keys, also of those keys; none if they cannot be read
 */
export async function tellLimitedKeys(to: OwnerNotices, organisation: string, person: string, actor: string): Promise<ApiKey[]> {
  const keys = await to.stores.keys.createdBy(organisation, person).catch((error: unknown): [] => (to.lost(error), []));
  if (keys.length === 0) return keys;
  const { role } = keys[0]!.limit ?? { role: 'none' };
  const subject = `${person}: ${keys.length} ${keys.length === 1 ? 'key' : 'keys'}, at most ${role}`;
  await to.stores.organisations.record({ organisation, actor, action: 'key.limit', subject }).catch(to.lost);
  const notice = { person, subject: String(keys.length), path: keysOfPersonPath(person) };
  await tellOwners(to, organisation, { event: 'keys_limited', ...notice });
  return keys;
}

/** Mails the owners about a key that a person created, once an hour: a stolen session would make itself one that stays. */
export async function tellOfNewKey(request: FastifyRequest, { name }: ApiKey): Promise<void> {
  if (request.caller?.actor.kind !== 'user') return;
  const { actor, organisation } = request.caller;
  const once = `${organisation.id}:${actor.email}:${request.server.now().toISOString().slice(0, 13)}`;
  await tellOwners(noticesOf(request), organisation.id, {
    event: 'key_created',
    person: actor.email,
    subject: name,
    path: KEYS_PATH,
    once,
  });
}

/** The page of the keys that a person created. */
export const keysOfPersonPath = (email: string, more: Record<string, string> = {}): string =>
  `${MEMBERS_PATH}/keys?${new URLSearchParams({ of: email, ...more })}`;
