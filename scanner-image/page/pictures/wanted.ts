/** Takes the pictures that a scan still wants of a tested page. */
import type { PageFindings } from '../axe/results.ts';
import type { IsolatedWorld } from '../axe/world.ts';
import type { PictureBudget } from './budget.ts';
import type { PageSize } from '../../../report/schema/schema.ts';
import { takePage, takePictures, type PicturesOfPage } from './take.ts';

/** A page that was tested, and what the visit took and may still take, in milliseconds. */
interface PicturedPage {
  world: IsolatedWorld;
  findings: PageFindings;
  size: PageSize;
  clock: { spent(): number; left(): number };
}

/** Takes pictures of the root causes of a page that have none yet, then of the page itself. @param budget null: the scan takes no pictures */
export async function takeWanted(budget: PictureBudget | null, page: PicturedPage | null): Promise<PicturesOfPage> {
  if (budget === null || page === null) return { pictures: [], unseen: [], stopped: null };
  const found = await takeCauses(budget, page);
  if (found.stopped !== null) return found;
  const { picture, stopped } = await takeWhole(budget, page);
  return { ...found, pictures: picture === null ? found.pictures : [...found.pictures, picture], stopped };
}

async function takeCauses(budget: PictureBudget, { world, findings, clock }: PicturedPage): Promise<PicturesOfPage> {
  const { wanted, ms } = budget.reserve(findings, clock.spent());
  if (wanted.length === 0) return { pictures: [], unseen: [], stopped: null };
  const started = clock.spent();
  const found = await takePictures(world, wanted, budget.words, { allowedMs: ms, left: clock.left });
  budget.settle(wanted, found, clock.spent() - started);
  return found;
}

async function takeWhole(budget: PictureBudget, { world, findings, size, clock }: PicturedPage): ReturnType<typeof takePage> {
  const ms = findings.violations.length + findings.needsReview.length === 0 ? 0 : budget.reservePage();
  if (ms <= 0) return { picture: null, stopped: null };
  const started = clock.spent();
  const taken = await takePage(world, size, budget.words, { allowedMs: ms, left: clock.left });
  budget.settlePage(taken.picture !== null, clock.spent() - started);
  return taken;
}
