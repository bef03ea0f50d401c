/** The names that an argument of a command may have. Without a service there are none, or only fixed ones. */
import type { CliContext } from '../commands/output.ts';
import { printable } from '../errors.ts';
import { noProgress } from '../progress.ts';
import { SHELLS } from './scripts.ts';

/** The time that a shell waits for names, in milliseconds. */
const MAX_MS = 3000;
/** As many scans of the service are offered, the newest ones. */
const SCANS_MAX = 20;

/** What the arguments of a command name. */
export interface Names {
  /** The argument may be a file too. */
  files?: boolean;
  read(context: CliContext): Promise<string[]>;
}

/** `latest`, and the IDs of the newest scans with their sites. */
async function scansOfService(context: CliContext): Promise<string[]> {
  const { connect } = await import('../commands/service.ts');
  const { listAll } = await import('../service/list.ts');
  const { LATEST } = await import('../service/scan-reference.ts');
  const client = connect(context, { maxWaitSeconds: 0, progress: noProgress() });
  const { data } = await listAll(client, { limit: SCANS_MAX });
  return [LATEST, ...data.map(({ scan_id: id, status, url }) => `${id}\t${printable(`${status} ${url}`)}`)];
}

const ARGUMENTS: Readonly<Record<string, Names>> = {
  follow: { read: scansOfService },
  cancel: { read: scansOfService },
  report: { read: scansOfService },
  diff: { read: scansOfService },
  open: { read: scansOfService },
  comment: { read: scansOfService, files: true },
  accept: { read: scansOfService, files: true },
  completion: { read: () => Promise.resolve([...SHELLS]) },
};

/** Returns what the arguments of a command name, or null if they name nothing that is known. */
export const namesOf = (command: string): Names | null => (Object.hasOwn(ARGUMENTS, command) ? ARGUMENTS[command]! : null);

/** Reads the names within a few seconds. A shell has no place for an error while a word is completed. */
export async function readNames({ read }: Names, context: CliContext): Promise<string[]> {
  const signal = AbortSignal.any([context.signal, AbortSignal.timeout(MAX_MS)]);
  try {
    return await read({ ...context, signal });
  } catch {
    return [];
  }
}
