/** Records when and from which networks keys were used, outside the requests that use them. */
import type { Collection } from 'mongodb';
import { BoundedMap } from '../../platform/concurrency/bounded-map.ts';
import type { AuditLog } from './audit.ts';
import { createCollector, type CollectedEvent } from './collector.ts';

/** The minimum interval between two writes of `lastUsedAt` of one key, in milliseconds. */
const RECORD_EVERY_MS = 60_000;
/** Networks that are remembered per key. A use from another one is recorded as new again. */
export const NETWORKS_PER_KEY = 50;
/** Keys and networks of one write, and keys and pairs that this process remembers. */
const USES_MAX = 1_000;
const REMEMBERED_MAX = 20_000;

export interface KeyUse {
  id: string;
  organisation: string;
  /** The client's network as the audit log names it. */
  network: string;
}

type UsedKey = { _id: string; lastUsedAt: Date | null; networks?: string[] };

export function createKeyUses(
  keys: Collection<UsedKey>,
  { tally }: Pick<AuditLog, 'tally'>,
  { now, monotonic }: { now: () => Date; monotonic?: () => number },
) {
  /** Keys whose use this process recorded a moment ago. */
  const recorded = new BoundedMap<true>({ max: REMEMBERED_MAX, monotonic });
  /** Pairs of key and network that are known to be stored. */
  const seen = new BoundedMap<true>({ max: REMEMBERED_MAX });
  const pairOf = ({ id, network }: KeyUse): string => `${id} ${network}`;

  async function recordTimes(uses: readonly KeyUse[]): Promise<void> {
    const at = now();
    // Other replicas have their own maps. The filter limits the writes of all replicas together.
    const due = { $or: [{ lastUsedAt: null }, { lastUsedAt: { $lt: new Date(at.getTime() - RECORD_EVERY_MS) } }] };
    const ids = [...new Set(uses.map(({ id }) => id))];
    await keys.updateMany({ _id: { $in: ids }, ...due }, { $set: { lastUsedAt: at } });
  }

  /** The entry is written before the key remembers the network, so that an interruption between the two repeats it. */
  async function recordNetwork(use: KeyUse): Promise<void> {
    const { id, organisation, network } = use;
    if ((await keys.countDocuments({ _id: id, networks: network }, { limit: 1 })) === 0) {
      await tally({ organisation, actor: `key:${id}`, action: 'key.new-network', subject: id, network, per: 'day' });
      const networks = { $each: [network], $position: 0, $slice: NETWORKS_PER_KEY };
      await keys.updateOne({ _id: id, networks: { $ne: network } }, { $push: { networks } });
    }
    seen.set(pairOf(use), true);
  }

  async function write(events: CollectedEvent<KeyUse>[]): Promise<void> {
    const uses = events.map(({ event }) => event);
    try {
      await recordTimes(uses);
      for (const use of uses) if (seen.get(pairOf(use)) === null) await recordNetwork(use);
    } catch {
      // The next use of each key is recorded again.
      for (const { id } of uses) recorded.delete(id);
    }
  }

  const collector = createCollector<KeyUse>({ max: USES_MAX, write });

  return {
    /**
     * Records that a key was used: at most once per minute and network, together with other keys, within about a second. The
     * first use from a network gets an entry in the audit log, one for all networks of a key on a day. Never throws.
     */
    touch(use: KeyUse) {
      if (recorded.get(use.id) !== null && seen.get(pairOf(use)) !== null) return;
      recorded.set(use.id, true, RECORD_EVERY_MS);
      collector.add(pairOf(use), use);
    },
    /** Writes the collected uses now. Never rejects. Call it before the connection is closed. */
    flush: collector.flush,
  };
}
