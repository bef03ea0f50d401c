/** Who vouches for whom on the embedded nats-server: an operator, its accounts, and the service's own user. Made once, kept in one file. */
import { randomUUID } from 'node:crypto';
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createAccount, createOperator, createUser, encodeAccount, encodeOperator, encodeUser, fmtCreds, fromSeed } from '@nats-io/jwt';

/** Seeds, each of which is a secret. */
interface Seeds {
  operator: string;
  /** The account that the product's messages live in; its seed signs users. */
  account: string;
  /** nats-server wants an account for its own events. */
  system: string;
  /** The user that API and operator connect as. */
  service: string;
}

export interface Identity {
  operatorJwt: string;
  account: { id: string; jwt: string };
  system: { id: string; jwt: string };
  /** A `.creds` file of a user who may do all in the account. */
  credentials: Uint8Array;
  /** The account's seed (`SA…`), which signs users. */
  signingSeed: string;
}

/** An account JWT without limits allows nothing: every one of them must be said to be off. */
const UNLIMITED = { conn: -1, leaf: -1, subs: -1, data: -1, payload: -1, imports: -1, exports: -1, wildcards: true };

/** Reads the identity kept in a folder, or makes one. @throws Error where the kept one cannot be read */
export async function loadOrMakeIdentity(folder: string): Promise<Identity> {
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
      throw new Error(`${path} cannot be read; remove it to have a new one made.`, { cause: error });
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

/** Writes a file that its owner alone can read, whole or not at all. */
export function writePrivately(path: string, content: string | Uint8Array): void {
  const unfinished = `${path}.${randomUUID()}`;
  writeFileSync(unfinished, content, { mode: 0o600 });
  renameSync(unfinished, path);
}
