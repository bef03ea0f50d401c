/** What people learn about rights in an organisation: mails to the owners, and what a person leaves behind whose role ended. */
import { randomUUID } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import type { ApiKey } from '../../stores/accounts/keys.ts';
import { isNothing, leftBehindBy, type LeftBehind, type LeftBehindStores } from '../../stores/accounts/left-behind.ts';
import type { MailData } from '../../stores/outbox/mails.ts';
import type { AllStores } from '../../stores/stores.ts';
import { uuidOf } from '../../core/uuid.ts';
import { KEYS_PATH, MEMBERS_PATH } from '../../core/web-paths.ts';

export interface OwnerNotices {
  stores: LeftBehindStores & Pick<AllStores, 'members' | 'organisations' | 'outbox'>;
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
      const mailed = { kind: 'owner_notice', to, organisation, data: { ...about, organisation: displayName } } as const;
      await stores.outbox.enqueue({ ...mailed, id: `owner-notice:${uuidOf(JSON.stringify([once, to]))}` });
    }
  } catch (error) {
    lost(error);
  }
}

/**
 * Says to the owners what a person leaves behind whose role changed or ended. Says to the audit log that live keys work on with at most
 * the present or last role.
 * @param actor as the audit log names it @returns what is left; nothing if it cannot be read
 */
export async function tellLeftBehind(to: OwnerNotices, organisation: string, person: string, actor: string): Promise<LeftBehind> {
  const left = await leftBehindBy(to.stores, organisation, person).catch(
    (error: unknown) => (to.lost(error), { keys: [], webhooks: [], schedules: [] }),
  );
  const { keys, webhooks, schedules } = left;
  if (isNothing(left)) return left;
  if (keys.length > 0) {
    const { role } = keys[0]!.limit ?? { role: 'none' };
    const subject = `${person}: ${keys.length} ${keys.length === 1 ? 'key' : 'keys'}, at most ${role}`;
    await to.stores.organisations.record({ organisation, actor, action: 'key.limit', subject }).catch(to.lost);
  }
  const subject = [keys, webhooks, schedules].map(({ length }) => length).join(', ');
  await tellOwners(to, organisation, { event: 'left_behind', person, subject, path: leftBehindPath(person) });
  return left;
}

/** Mails the owners about keys that a person creates or adopts, once an hour: a stolen session would make itself one that stays. */
export async function tellOfKey(request: FastifyRequest, event: 'key_created' | 'key_adopted', { name }: ApiKey): Promise<void> {
  if (request.caller?.actor.kind !== 'user') return;
  const { actor, organisation } = request.caller;
  const once = `${event}:${organisation.id}:${actor.email}:${request.server.now().toISOString().slice(0, 13)}`;
  await tellOwners(noticesOf(request), organisation.id, { event, person: actor.email, subject: name, path: KEYS_PATH, once });
}

export const LEFT_BEHIND_PATH = `${MEMBERS_PATH}/left-behind`;

/** The page of what a person leaves behind. */
export const leftBehindPath = (email: string, more: Record<string, string> = {}): string =>
  `${LEFT_BEHIND_PATH}?${new URLSearchParams({ of: email, ...more })}`;

/** The page of what a person has made who changes the password or ends all sessions; null if there is nothing, or it cannot be read. */
export async function ownLeftPath(request: FastifyRequest, email: string): Promise<string | null> {
  const { stores, lost } = noticesOf(request);
  try {
    const belongs = (await stores.members.of(email)).filter(({ confirmed }) => confirmed);
    for (const { organisation } of belongs) if (!isNothing(await leftBehindBy(stores, organisation.id, email))) return LEFT_BEHIND_PATH;
  } catch (error) {
    lost(error);
  }
  return null;
}
