import { LOCALES, type Locale } from '../../core/scan/locales.ts';
import { createRandom } from './random.ts';

/** Tests that try many cases try a few of them for a commit, and all of them with `NIGHTLY=1`. */
export const NIGHTLY = process.env.NIGHTLY === '1';

/** @returns what a commit tries, or with `NIGHTLY=1` what the night tries */
export const nightly = <T>(commit: T, night: T): T => (NIGHTLY ? night : commit);

/** The languages in which pages are opened: for a commit the original and the one with the longest words. */
export const SOME_LOCALES: readonly Locale[] = nightly<readonly Locale[]>(['en', 'de'], LOCALES);

/** @returns for a commit at most this number of entries, the same ones each time, in their order; with `NIGHTLY=1` all */
export function someOf<T>(entries: readonly T[], most: number): T[] {
  const random = createRandom(entries.length);
  let needed = nightly(most, entries.length);
  return entries.filter((_, at) => {
    const taken = random() * (entries.length - at) < needed;
    if (taken) needed -= 1;
    return taken;
  });
}
