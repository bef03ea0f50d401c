/** The formats of printed data, which `-o` chooses: one set for all commands. */
import { UsageError } from '../errors.ts';
import type { Terminal } from '../terminal.ts';

/** The values of `-o`. */
export const FORMATS = ['json', 'yaml', 'wide'] as const;
export type Format = 'text' | (typeof FORMATS)[number];

export const FORMAT_OPTIONS = {
  output: {
    short: 'o',
    value: 'FORMAT',
    choices: FORMATS,
    meaning: 'json, yaml, or wide (text with more details). With json and yaml no progress is shown',
  },
  json: { meaning: 'the same as -o json' },
} as const;

/** Reads the format from parsed arguments. @throws UsageError */
export function formatOf(command: string, { output, json }: { output?: string; json: boolean }): Format {
  if (output === undefined) return json ? 'json' : 'text';
  // -o=json is as usual as -ojson among the users of kubectl.
  const found = FORMATS.find((format) => format === output.replace(/^=/, ''));
  if (found === undefined) throw new UsageError(`-o ${output} must be one of ${FORMATS.join(', ')}.`, command);
  if (json && found !== 'json') throw new UsageError(`--json and -o ${output} cannot be used together.`, command);
  return found;
}

/** Whether programs read the output, so that it holds the data and nothing else. */
export const isData = (format: Format): boolean => format === 'json' || format === 'yaml';

/**
 * Prints data.
 * @param text renders it for people; `wide` asks for more details
 */
export async function print(terminal: Terminal, format: Format, data: unknown, text: (wide: boolean) => string): Promise<void> {
  terminal.write(await rendered(format, data, text));
}

async function rendered(format: Format, data: unknown, text: (wide: boolean) => string): Promise<string> {
  if (format === 'json') return `${jsonOf(data)}\n`;
  if (format !== 'yaml') return text(format === 'wide');
  // Loaded only here, because the command must start fast. References (&a, *a) would surprise readers of short documents.
  const { stringify } = await import('yaml');
  return stringify(data, { lineWidth: 0, aliasDuplicateObjects: false });
}

/** JSON is often printed in the log of a job, where `##[…]` and `##vso[…]` are commands of CI systems; only strings can have them. */
const jsonOf = (data: unknown): string => JSON.stringify(data, null, 2).replaceAll('##', '#\\u0023');
