/**
 * Limits the live keys of an organisation. Each key that is not revoked holds one of a fixed number of slots, and a unique
 * index gives each slot to one key. Therefore concurrent requests cannot exceed the limit, and no counter can drift.
 */
import { randomInt } from 'node:crypto';

/** How many live keys an organisation can have (decisions, "Limits"). */
export const LIVE_KEYS_MAX = 100;

export interface SlotHolder {
  _id: string;
  slot?: string;
  expiresAt: Date | null;
}

/** A free slot, and the expired keys that must give theirs up first; null if every slot belongs to a live key. */
export type SlotChoice = { slot: string; expired: string[] } | null;

/**
 * Chooses a slot at random, so that concurrent requests rarely choose the same one.
 * @param holders the keys of the organisation that hold a slot
 */
export function chooseSlot(organisation: string, holders: readonly SlotHolder[], now: Date): SlotChoice {
  const expired = holders.filter(({ expiresAt }) => expiresAt !== null && expiresAt <= now);
  if (holders.length - expired.length >= LIVE_KEYS_MAX) return null;
  const expiredIds = new Set(expired.map(({ _id }) => _id));
  const taken = new Set(holders.filter(({ _id }) => !expiredIds.has(_id)).map(({ slot }) => slot));
  const free = Array.from({ length: LIVE_KEYS_MAX }, (_, index) => `${organisation}/${index}`).filter((slot) => !taken.has(slot));
  return { slot: free[randomInt(free.length)]!, expired: [...expiredIds] };
}
