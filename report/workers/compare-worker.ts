/**
 * Compares two exports in a worker thread, so that the process can work on other things at the same time. The exports arrive one
 * after the other: the first is reduced before the second is sent. The thread ends after one comparison.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { diffReduced } from '../diff/diff.ts';
import { reduceReport, type ReducedReport } from '../diff/reduce.ts';
import type { Report } from '../schema/schema.ts';
import { comparedCauses, summariseDiff, type ComparedReports } from '../diff/summary.ts';
import { isParseable } from '../schema/json-shape.ts';

/** `null`: the thread expects the second export. */
export type CompareMessage = ComparedReports | { ok: false; reason: 'not_comparable' } | null;

/** Stored exports were verified, but maybe by another version. */
function reduce(bytes: Uint8Array): ReducedReport | null {
  if (!isParseable(bytes)) return null;
  try {
    return reduceReport(JSON.parse(new TextDecoder().decode(bytes)) as Report);
  } catch {
    return null;
  }
}

/** What the thread is given at its start. */
export interface CompareOptions {
  /** The maximum numbers of new and of fixed root causes to list; 0: they are not listed. */
  causesMax: number;
}

const { causesMax } = workerData as CompareOptions;

function answerFor(before: ReducedReport, after: ReducedReport): ComparedReports {
  const diff = diffReduced(before, after);
  return { ...summariseDiff(diff), ...(causesMax > 0 && { causes: comparedCauses(diff, causesMax) }) };
}

let before: ReducedReport | null = null;

parentPort!.on('message', (bytes: Uint8Array) => {
  const reduced = reduce(bytes);
  let answer: CompareMessage = { ok: false, reason: 'not_comparable' };
  if (reduced !== null && before === null) [before, answer] = [reduced, null];
  else if (reduced !== null && before !== null) answer = answerFor(before, reduced);
  parentPort!.postMessage(answer);
});
