/** Passkeys (WebAuthn) of this service: what browsers are asked, and the verification of what they answer. */
import { isIP } from 'node:net';
import type { FastifyInstance } from 'fastify';
import {
  generateAuthenticationOptions,
  generateRegistrationOptions,
  verifyAuthenticationResponse,
  verifyRegistrationResponse,
  type AuthenticationResponseJSON,
  type RegistrationResponseJSON,
} from '@simplewebauthn/server';
import type { StoredPasskey } from '../../../stores/accounts/second-factor-steps.ts';
import type { ApiStores } from '../../dependencies.ts';

/** The service as authenticators know it. */
export interface RelyingParty {
  /** The host of the public address. A passkey works for this host only. */
  id: string;
  origin: string;
}

/** Returns null if browsers have no passkeys for the address: they need a name, and HTTPS unless the name is that of this machine. */
export function relyingPartyOf(publicBaseUrl: string): RelyingParty | null {
  const { protocol, hostname, origin } = new URL(publicBaseUrl);
  const local = hostname === 'localhost' || hostname.endsWith('.localhost');
  if ((protocol !== 'https:' && !local) || isIP(hostname.replace(/^\[|\]$/g, '')) !== 0) return null;
  return { id: hostname, origin };
}

/**
 * EdDSA, ES256, RS256: what authenticators offer. The library's own list also asks Node.js for algorithms that it warns of as
 * experimental.
 */
const ALGORITHMS = [-8, -7, -257];

type NewPasskey = Omit<StoredPasskey, 'name' | 'createdAt' | 'lastUsedAt'>;

/** What an answer of an authenticator proves. */
export interface Assertion {
  id: string;
  counter: number;
}

export function passkeysOf({ web, stores: { passkeyChallenges: challenges } }: FastifyInstance) {
  const party = relyingPartyOf(web.publicBaseUrl);
  const issue = async (subject: string) => new Uint8Array(Buffer.from(await challenges.issue(subject), 'base64url'));

  return {
    available: party !== null,

    /** Those that work at the current address of the service. */
    usable: (passkeys: readonly StoredPasskey[]): StoredPasskey[] => passkeys.filter(({ rpId }) => rpId === party?.id),

    /** What to ask a browser to make a passkey, as JSON. @param subject to whom the challenge is given; null if there are no passkeys */
    async creation(
      account: { email: string; handle: string; passkeys: readonly StoredPasskey[] },
      subject: string,
    ): Promise<string | null> {
      if (party === null) return null;
      const options = await generateRegistrationOptions({
        rpName: 'Curbcut',
        rpID: party.id,
        userName: account.email,
        userID: new Uint8Array(Buffer.from(account.handle, 'base64url')),
        challenge: await issue(subject),
        // Nothing depends on the make of an authenticator.
        attestationType: 'none',
        supportedAlgorithmIDs: ALGORITHMS,
        excludeCredentials: account.passkeys.map(({ id, transports }) => ({ id, transports })),
        // Keys that cannot verify their user are welcome beside a password.
        authenticatorSelection: { residentKey: 'preferred', userVerification: 'preferred' },
      });
      return JSON.stringify(options);
    },

    /** Verifies a new passkey. @param answer JSON of a browser @returns null if it is not valid */
    async readCreation(answer: string, subject: string): Promise<NewPasskey | null> {
      const response = parsed<RegistrationResponseJSON>(answer);
      const challenge = response === null ? null : await take(challenges, response, subject);
      if (response === null || challenge === null || party === null) return null;
      const verified = await verifyRegistrationResponse({
        response,
        expectedChallenge: challenge,
        expectedOrigin: party.origin,
        expectedRPID: party.id,
        requireUserVerification: false,
        supportedAlgorithmIDs: ALGORITHMS,
      }).catch(refused);
      if (!verified?.verified) return null;
      const { id, publicKey, counter } = verified.registrationInfo.credential;
      const transports = (response.response.transports ?? []).filter((one) => typeof one === 'string').slice(0, 10);
      return { id, rpId: party.id, publicKey: Buffer.from(publicKey).toString('base64url'), counter, transports };
    },

    /** What to ask a browser to use a passkey, as JSON. @param passkeys null: any that the person chooses, with a PIN or a biometric */
    async request(passkeys: readonly StoredPasskey[] | null, subject: string): Promise<string | null> {
      if (party === null) return null;
      const options = await generateAuthenticationOptions({
        rpID: party.id,
        challenge: await issue(subject),
        userVerification: passkeys === null ? 'required' : 'preferred',
        allowCredentials: passkeys?.map(({ id, transports }) => ({ id, transports })),
      });
      return JSON.stringify(options);
    },

    /**
     * Verifies the use of a passkey. The caller records it, which also compares the counter.
     * @param find returns the passkey of an ID, and its account's name for authenticators
     * @param options.verified whether the authenticator must have verified its user
     */
    async readUse(
      answer: string,
      subject: string,
      find: (id: string) => Promise<{ passkey: StoredPasskey; handle: string } | null>,
      { verified: mustVerify }: { verified: boolean },
    ): Promise<Assertion | null> {
      const response = parsed<AuthenticationResponseJSON>(answer);
      if (response === null || party === null || typeof response.id !== 'string') return null;
      const found = await find(response.id);
      const handle = response.response?.userHandle;
      const challenge = await take(challenges, response, subject);
      if (challenge === null || found === null || (handle != null && handle !== found.handle)) return null;
      const { id, publicKey } = found.passkey;
      const verified = await verifyAuthenticationResponse({
        response,
        expectedChallenge: challenge,
        expectedOrigin: party.origin,
        expectedRPID: party.id,
        requireUserVerification: mustVerify,
        // The store compares the counter, because only it can decide between two simultaneous uses.
        credential: { id, publicKey: new Uint8Array(Buffer.from(publicKey, 'base64url')), counter: 0 },
      }).catch(refused);
      return verified?.verified ? { id, counter: verified.authenticationInfo.newCounter } : null;
    },
  };
}

/** Uses up the challenge that an answer names, before anything else of it is looked at. @returns null if it was not given to the subject */
async function take(
  challenges: ApiStores['passkeyChallenges'],
  { response }: { response?: { clientDataJSON?: unknown } },
  subject: string,
): Promise<string | null> {
  const data = response?.clientDataJSON;
  const { challenge = null } =
    parsed<{ challenge?: unknown }>(typeof data === 'string' ? Buffer.from(data, 'base64url').toString() : '') ?? {};
  return typeof challenge === 'string' && (await challenges.take(challenge, subject)) ? challenge : null;
}

/** The library only computes, and throws for every answer that it refuses. */
const refused = (): null => null;

/** A browser's answer; null if it is not a JSON object. The library checks its fields. */
function parsed<T extends object>(text: string): T | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as T) : null;
  } catch {
    return null;
  }
}
