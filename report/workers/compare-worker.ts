/**
 * Compares two exports in a worker thread, so that the process can work on other things at the same time. The exports arrive one
 * after the other: the first is reduced before the second is sent. The thread ends after one comparison.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { diffReduced } from '../diff/diff.ts';
import { reduceExport, type ReducedReport } from '../diff/reduce.ts';
import { comparedCauses, summariseDiff, type ComparedReports } from '../diff/summary.ts';

/** `null`: the thread expects the second export. */
export type CompareMessage = ComparedReports | { ok: false; reason: 'not_comparable' } | null;

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
  const reduced = reduceExport(bytes);
  let answer: CompareMessage = { ok: false, reason: 'not_comparable' };
  if (reduced !== null && before === null) [before, answer] = [reduced, null];
  else if (reduced !== null && before !== null) answer = answerFor(before, reduced);
  parentPort!.postMessage(answer);
});
