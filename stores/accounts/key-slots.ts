/** Limits the live keys of an organisation: each key that is not revoked holds one of its slots. */
import { freeSlots } from '../slots.ts';

/** How many live keys an organisation can have (decisions, "Limits"). */
export const LIVE_KEYS_MAX = 100;

export interface SlotHolder {
  _id: string;
  slot?: string;
  expiresAt: Date | null;
}

/** A free slot, and the expired keys that must give theirs up first; null if every slot belongs to a live key. */
export type SlotChoice = { slot: string; expired: string[] } | null;

/** @param holders the keys of the organisation that hold a slot */
export function chooseSlot(organisation: string, holders: readonly SlotHolder[], now: Date): SlotChoice {
  const isExpired = ({ expiresAt }: SlotHolder): boolean => expiresAt !== null && expiresAt <= now;
  const live = holders.filter((holder) => !isExpired(holder));
  const [slot] = freeSlots(
    organisation,
    LIVE_KEYS_MAX,
    live.map((holder) => holder.slot),
  );
  return slot === undefined ? null : { slot, expired: holders.filter(isExpired).map(({ _id }) => _id) };
}
