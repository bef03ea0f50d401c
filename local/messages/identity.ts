/** The keys of the embedded nats-server: an operator, its accounts and the service's user. Created once, kept in one file. */
import { randomUUID } from 'node:crypto';
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createAccount, createOperator, createUser, encodeAccount, encodeOperator, encodeUser, fmtCreds, fromSeed } from '@nats-io/jwt';

/** The seeds. All are secrets. */
interface Seeds {
  operator: string;
  /** The account of the product's messages; its seed signs users. */
  account: string;
  /** nats-server requires a system account for its own events. */
  system: string;
  /** The user that API and operator connect as. */
  service: string;
}

export interface Identity {
  operatorJwt: string;
  account: { id: string; jwt: string };
  system: { id: string; jwt: string };
  /** The `.creds` file of a user with all rights in the account. */
  credentials: Uint8Array;
  /** The account's seed (`SA…`), which signs users. */
  signingSeed: string;
}

/** An account JWT without limits allows nothing: each limit must be turned off explicitly. */
const UNLIMITED = { conn: -1, leaf: -1, subs: -1, data: -1, payload: -1, imports: -1, exports: -1, wildcards: true };

/** Reads the identity in a folder, or creates one. @throws Error if the file cannot be read */
export async function loadOrCreateIdentity(folder: string): Promise<Identity> {
  const seeds = keptSeeds(join(folder, 'identity.json'));
  const [operator, account, system, service] = [seeds.operator, seeds.account, seeds.system, seeds.service].map((seed) =>
    fromSeed(Buffer.from(seed)),
  );
  const systemId = system!.getPublicKey();
  return {
    operatorJwt: await encodeOperator('curbcut-local', operator!, { system_account: systemId }),
    account: { id: account!.getPublicKey(), jwt: await encodeAccount('curbcut', account!, { limits: UNLIMITED }, { signer: operator! }) },
    system: { id: systemId, jwt: await encodeAccount('system', system!, { limits: UNLIMITED }, { signer: operator! }) },
    credentials: fmtCreds(await encodeUser('curbcut-service', service!, account!, {}, {}), service!),
    signingSeed: seeds.account,
  };
}

function keptSeeds(path: string): Seeds {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as Seeds;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT')
      throw new Error(`${path} cannot be read. Remove it to create a new one.`, { cause: error });
  }
  const seed = (pair: { getSeed(): Uint8Array }): string => Buffer.from(pair.getSeed()).toString();
  const made: Seeds = {
    operator: seed(createOperator()),
    account: seed(createAccount()),
    system: seed(createAccount()),
    service: seed(createUser()),
  };
  writePrivately(path, JSON.stringify(made));
  return made;
}

/** Writes a file atomically, readable by its owner only. */
export function writePrivately(path: string, content: string | Uint8Array): void {
  const unfinished = `${path}.${randomUUID()}`;
  writeFileSync(unfinished, content, { mode: 0o600 });
  renameSync(unfinished, path);
}
