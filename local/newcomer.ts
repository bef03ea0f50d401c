/** What a newcomer needs before a first scan: an organisation with credits, and a key for it. */
import { readFile } from 'node:fs/promises';
import type { Logger } from '../platform/logger.ts';
import { AlreadyExists } from '../stores/accounts/organisations.ts';
import { connectMongo, ensureIndexes } from '../stores/mongo.ts';
import { openStores } from '../stores/stores.ts';

const ORGANISATION = 'demo';
const FIRST_GRANT = 10_000;

/**
 * Makes the organisation `demo`, its grant and its key where they are not there yet; a key that the environment file
 * of an earlier run still holds, and that is still good, is kept.
 * @returns the API key
 */
export async function welcome(options: {
  mongodbUrl: string;
  environmentFile: string;
  namespace: string;
  /** Who does it, for the audit log and the key's name. */
  actor?: string;
  logger: Logger;
}): Promise<string> {
  const { actor = 'make run' } = options;
  const mongo = connectMongo({ url: options.mongodbUrl, logger: options.logger });
  try {
    await ensureIndexes(mongo.db);
    const { organisations, credits, keys } = openStores(mongo.db);
    try {
      await organisations.add({ id: ORGANISATION, displayName: 'Demo organisation', plan: 'evaluation', namespaces: [options.namespace] });
      await organisations.record({ organisation: ORGANISATION, actor, action: 'organisation.add', subject: ORGANISATION });
    } catch (error) {
      if (!(error instanceof AlreadyExists)) throw error;
    }
    await credits.open(ORGANISATION);
    if (await credits.grant(ORGANISATION, 'welcome', FIRST_GRANT)) {
      await organisations.record({
        organisation: ORGANISATION,
        actor,
        action: 'organisation.grant',
        subject: `welcome: ${FIRST_GRANT} pages`,
      });
    }
    const kept = await keptKey(options.environmentFile);
    if (kept !== null && (await keys.recognise(kept))?.organisation === ORGANISATION) return kept;
    const { key, secret } = await keys.issue({ organisation: ORGANISATION, name: actor, expiresAt: null });
    await organisations.record({ organisation: ORGANISATION, actor, action: 'key.issue', subject: key.id });
    return secret;
  } finally {
    await mongo.close();
  }
}

async function keptKey(environmentFile: string): Promise<string | null> {
  const text = await readFile(environmentFile, 'utf8').catch(() => '');
  return /^export CURBCUT_API_KEY='?(svc_live_[0-9A-Za-z]+)'?$/m.exec(text)?.[1] ?? null;
}
