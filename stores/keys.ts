/** API keys: issued once in full, kept as SHA-256 only. `svc_live_` + 32 base62 characters + a 6-character base62 CRC-32. */

export interface ApiKey {
  id: string;
  organisation: string;
  name: string;
  last4: string;
  createdAt: Date;
  expiresAt: Date | null;
  revokedAt: Date | null;
  lastUsedAt: Date | null;
}

export interface Keys {
  /** @returns the stored key and its secret, which nobody can ever read again */
  issue(request: { organisation: string; name: string; expiresAt: Date | null }): Promise<{ key: ApiKey; secret: string }>;
  /** The live key of a secret; null if it is malformed (refused without a look-up), unknown, expired or revoked. */
  recognise(secret: string): Promise<ApiKey | null>;
  /** Keys of an organisation that are not revoked, newest first. */
  list(organisation: string): Promise<ApiKey[]>;
  /** @returns false if the organisation has no such live key */
  revoke(organisation: string, id: string): Promise<boolean>;
  /** Notes that a key was used; at most one write a minute and key. Never throws. */
  touch(id: string): void;
}
