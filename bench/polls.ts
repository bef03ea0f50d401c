/** Measures polls of live scans per second through the API (key and organisation, limit, row). */
import { pace, PER_ORGANISATION, quantile, startInstallation } from './installation.ts';

export interface PollRates {
  polls: number;
  perSecond: number;
  p50Ms: number;
  p99Ms: number;
}

/** Measures `count` polls on a new installation whose operator runs one scan at a time. Each organisation polls one scan. */
export async function measurePolls(count: number): Promise<PollRates> {
  const { submit, poll, close } = await startInstallation({ scans: count, maxRunning: 1 });
  try {
    const ids: string[] = [];
    for (let index = 0; index < count; index += PER_ORGANISATION) ids.push(await submit(index));
    const polled = await pace(count, (index) => poll(index, ids[Math.floor(index / PER_ORGANISATION)]!));
    return { polls: count, perSecond: count / polled.seconds, p50Ms: quantile(polled.each, 0.5), p99Ms: quantile(polled.each, 0.99) };
  } finally {
    await close();
  }
}
