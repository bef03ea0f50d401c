/** Takes the pictures that a scan still wants of a tested page. */
import type { PageFindings } from '../axe/results.ts';
import type { IsolatedWorld } from '../axe/world.ts';
import type { PictureBudget } from './budget.ts';
import { takePictures, type PicturesOfPage } from './take.ts';

/**
 * Takes pictures of the root causes of a page that have none yet.
 * @param budget null: the scan takes no pictures
 * @param findings null: the page was not tested
 * @param clock tells what the visit took, and what is left of its budget, in milliseconds
 */
export async function takeWanted(
  budget: PictureBudget | null,
  world: IsolatedWorld,
  findings: PageFindings | null,
  clock: { spent(): number; left(): number },
): Promise<PicturesOfPage> {
  const { wanted, ms } = budget === null || findings === null ? { wanted: [], ms: 0 } : budget.reserve(findings, clock.spent());
  if (budget === null || wanted.length === 0) return { pictures: [], unseen: [], stopped: null };
  const started = clock.spent();
  const found = await takePictures(world, wanted, budget.words, { allowedMs: ms, left: clock.left });
  budget.settle(wanted, found, clock.spent() - started);
  return found;
}
