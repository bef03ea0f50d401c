/** The scans that `curbcut mcp` starts. It keeps the reports of the last ones in memory. */
import type { Report } from '../../report/schema/report.ts';
import { runLocally } from '../commands/local-scan.ts';
import type { CliContext } from '../commands/output.ts';
import { connect } from '../commands/service.ts';
import { CliError, errorMessage, printable } from '../errors.ts';
import type { ProgressView } from '../progress.ts';
import type { Client, Submission } from '../service/client.ts';
import { followScan } from '../service/follow.ts';
import type { ScanResult } from '../service/messages.ts';
import { readExport } from '../service/reports.ts';
import { resolveReference } from '../service/scan-reference.ts';
import { hasResult } from '../summary.ts';

/** Reports may have many megabytes. */
const KEPT_MAX = 5;
/** How long the service may take to cancel a scan, in milliseconds. */
const CANCEL_MS = 10_000;

/** A call of the agent, which may cancel it. */
export interface Call {
  progress: ProgressView;
  signal: AbortSignal;
}

type SiteScan = Omit<Submission, 'baseline'>;

/** A scan with a report. */
type Scanned = { result: ScanResult; report: Report };
export type Scans = ReturnType<typeof createScans>;

/** @param maxWaitSeconds how long each call waits for a service that is unavailable */
export function createScans(context: CliContext, maxWaitSeconds: number) {
  const reports = new Map<string, Report>();

  function keep(report: Report): Report {
    reports.delete(report.scan.id);
    reports.set(report.scan.id, report);
    const [oldest] = reports.keys();
    if (reports.size > KEPT_MAX) reports.delete(oldest!);
    return report;
  }

  const clientFor = ({ progress, signal }: Call): Client => connect({ ...context, signal }, { maxWaitSeconds, progress });

  async function runRemotely(scan: SiteScan, { progress, signal }: Call): Promise<Scanned> {
    const client = clientFor({ progress, signal });
    const key = context.newId();
    try {
      const { scan_id: id } = await client.submit(scan, key);
      const result = await followScan(client, id, { onStep: (step) => progress.step(step) });
      if (!hasResult(result)) throw new CliError(`The scan ${result.status}: ${result.message ?? 'no reason was given.'}`);
      return { result, report: (await readExport(client, id)) as Report };
    } catch (error) {
      if (signal.aborted) await cancel(scan, key, progress);
      throw error;
    }
  }

  /** It is unknown whether a submission that was interrupted has arrived. The same key returns its scan. */
  async function cancel(scan: SiteScan, key: string, progress: ProgressView): Promise<void> {
    try {
      const client = clientFor({ progress, signal: AbortSignal.timeout(CANCEL_MS) });
      await client.cancel((await client.submit(scan, key)).scan_id);
    } catch (error) {
      context.stderr.write(`curbcut: the scan of ${printable(scan.url)} may continue: ${printable(errorMessage(error))}\n`);
    }
  }

  async function runHere(scan: SiteScan, { progress, signal }: Call): Promise<Scanned> {
    // The agent chose the address, maybe because a page told it to look into a private network.
    const { result, done } = await runLocally({ ...scan, hostAllowed: false }, progress, { ...context, signal });
    if (done === null) throw new CliError(`The scan failed: ${result.message}`);
    return { result, report: done.report };
  }

  return {
    /** Runs a scan to its end. @throws CliError if it has no report */
    async run(scan: SiteScan, local: boolean, call: Call): Promise<Scanned> {
      const scanned = await (local ? runHere : runRemotely)(scan, call);
      // The tools go on with the scan that has all pages.
      if (scan.checkOf === undefined) keep(scanned.report);
      return scanned;
    },
    /** The report of a scan; without a name, of the last one. @throws CliError */
    async find(name: string | undefined, call: Call): Promise<Report> {
      const known = reports.get(name ?? [...reports.keys()].at(-1) ?? '');
      if (known !== undefined) return keep(known);
      if (name === undefined) throw new CliError('There is no scan yet.', 'Start one with the tool scan, or name a scan of the service.');
      const client = clientFor(call);
      return keep((await readExport(client, await resolveReference(client, name, call.progress.note))) as Report);
    },
  };
}
