/** Sign-ins that are in progress at the identity provider. Each can be completed once, by the browser that started it. */
import type { Db } from 'mongodb';
import { newToken, tokenHash } from './one-time-links.ts';

const VALID_MS = 600_000;

/** What the answer of the provider is checked with. */
export interface OidcChecks {
  state: string;
  nonce: string;
  verifier: string;
}

export interface OidcFlow extends OidcChecks {
  /** Where to go afterwards. */
  next: string;
  /** The ID of the invitation that was opened before. Null: none. */
  invitation: string | null;
}

export function createOidcFlows(db: Db, { now = () => new Date() }: { now?: () => Date } = {}) {
  const flows = db.collection<OidcFlow & { _id: string; expiresAt: Date }>('oidcFlows');
  return {
    /** Stores a flow. @returns the token for the browser */
    async start(flow: OidcFlow): Promise<string> {
      const token = newToken();
      await flows.insertOne({ _id: tokenHash(token)!, ...flow, expiresAt: new Date(now().getTime() + VALID_MS) });
      return token;
    },

    /** Returns the flow of a token, which works once; null if it is unknown, used or older than ten minutes. */
    async take(token: string): Promise<OidcFlow | null> {
      const hash = tokenHash(token);
      const found = hash === null ? null : await flows.findOneAndDelete({ _id: hash });
      if (found === null || found.expiresAt <= now()) return null;
      const { state, nonce, verifier, next, invitation } = found;
      return { state, nonce, verifier, next, invitation };
    },
  };
}
