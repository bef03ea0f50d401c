/** The trail of sign-ins: entries of the audit log, and mails to the owner of the account. */
import type { FastifyRequest } from 'fastify';
import type { Session, SignInMethod } from '../../stores/accounts/sessions.ts';
import { auditNetwork } from '../accounts/audit-network.ts';
import type { ApiStores } from '../dependencies.ts';
import type { AccountMails } from './account-mails.ts';
import { browserName } from './browsers.ts';
import { recordEntry, type RecordDeps } from './record.ts';

export interface SignIn {
  /** The organisation of the session. Null: an account without one has no audit log. */
  organisation: string | null;
  session: Pick<Session, 'id' | 'email' | 'method' | 'browser'>;
  /** Whether the account had no sign-in before: its owner expects this one. */
  first: boolean;
}

export interface Trail {
  /**
   * Records a sign-in, and mails the owner of the account if it came from a new network: from which there was no sign-in for as
   * long as entries about security are kept. A network has an entry of its own, which each sign-in from it keeps longer.
   */
  signedIn(request: FastifyRequest, signIn: SignIn): Promise<void>;
  /** Records that a password was refused. Takes the same time for an address without an account. */
  signInFailed(request: FastifyRequest, email: string): void;
  /** Null if mail is not configured. */
  mails: AccountMails | null;
}

declare module 'fastify' {
  interface FastifyInstance {
    trail: Trail;
  }
}

const METHODS: Readonly<Record<SignInMethod, string>> = { password: 'password', oidc: 'identity provider', passkey: 'passkey' };

interface TrailDeps extends RecordDeps {
  failures: Pick<ApiStores['signInFailures'], 'add'>;
  mails: AccountMails | null;
}

export function createTrail({ failures, mails, ...deps }: TrailDeps): Trail {
  return {
    mails,

    async signedIn(request, { organisation, session: { id, email, method, browser }, first }) {
      if (organisation === null) return;
      const about = { organisation, actor: email, subject: `${METHODS[method]}, ${browserName(browser)}` };
      await recordEntry(deps, request, { ...about, action: 'user.sign-in', once: id });
      const once = `${email} ${auditNetwork(request.ip)}`;
      const isNew = await recordEntry(deps, request, { ...about, action: 'user.new-network', once });
      if (isNew === true && !first) await mails?.send(request, { event: 'sign_in', to: email });
    },

    signInFailed(request, email) {
      failures.add({ email, network: auditNetwork(request.ip) });
    },
  };
}
