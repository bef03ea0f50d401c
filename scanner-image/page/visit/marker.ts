/** Checks that a page is signed in. */
import type { Marker } from '../../../core/scan/sign-in.ts';
import { describeMarker } from '../../../core/scan/steps.ts';
import { evaluate, type IsolatedWorld } from '../axe/world.ts';
import type { WrongPage } from '../../crawl/page-checks.ts';
import type { MainFrame } from './main-frame.ts';
import type { VisitClock } from './visit.ts';

/** The time that a quiet page gets to show that it is signed in, in milliseconds. */
const MARKER_MS = 2000;

/** Returns why a page without the marker of the sign-in is not tested; null if it shows the marker, or the scan has none. */
export async function missingMarker(
  frame: MainFrame,
  { world, marker }: { world: IsolatedWorld; marker: Marker | undefined },
  clock: VisitClock,
): Promise<WrongPage | null> {
  if (marker === undefined) return null;
  const showing = evaluate<boolean>(world, `curbcut.shows(${JSON.stringify(marker)}, ${MARKER_MS})`);
  if (await frame.whileAlive(showing, clock.left(), 'looking for the marker')) return null;
  return { reason: 'sign_in_lost', message: `The page is not signed in: it does not show ${describeMarker(marker)}.` };
}
