/** Completes words of `kubectl curbcut …` in a shell. */
import { GROUP, SCHEDULES_PLURAL, type KubernetesObject } from '../../core/protocol/custom-resources.ts';
import { noProgress } from '../progress.ts';
import type { CliContext } from '../commands/output.ts';
import { connectKubectl } from './connect.ts';
import { QUEUES } from './queues.ts';
import { SCANS } from './scans.ts';

/** What the argument of a command names, and how it is written. */
const NAMED: Readonly<Record<string, { resource: string; prefix?: string; max?: number }>> = {
  follow: { resource: SCANS },
  cancel: { resource: SCANS },
  report: { resource: SCANS },
  diff: { resource: SCANS, max: 2 },
  queue: { resource: QUEUES },
  run: { resource: `${SCHEDULES_PLURAL}.${GROUP}`, prefix: 'schedule/' },
};
/** kubectl's directive: no file names. */
const NO_FILES = ':4\n';

/**
 * Returns the completions of the last word, one per line, and kubectl's directive. Without a cluster there are no names.
 * @param words the words after `kubectl curbcut`
 * @param commands the names of the commands
 */
export async function complete(words: readonly string[], commands: readonly string[], context: CliContext): Promise<string> {
  const [command, ...names] = words;
  const known = names.length === 0 ? commands : await namesFor(command!, names, context);
  const last = words.at(-1) ?? '';
  return `${known.filter((word) => word.startsWith(last)).map((word) => `${word}\n`).join('')}${NO_FILES}`; // prettier-ignore
}

async function namesFor(command: string, names: readonly string[], context: CliContext): Promise<string[]> {
  const named = Object.hasOwn(NAMED, command) ? NAMED[command]! : null;
  if (named === null || names.length > (named.max ?? 1)) return [];
  try {
    const kubectl = connectKubectl(context, { maxWaitSeconds: 0, progress: noProgress() });
    const { items } = await kubectl.json<{ items: KubernetesObject[] }>(['get', named.resource]);
    return items.map(({ metadata }) => `${named.prefix ?? ''}${metadata.name}`);
  } catch {
    // A shell has no place for an error while a word is completed.
    return [];
  }
}
