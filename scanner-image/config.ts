/** What the scanner pod reads: its environment, and the file that says what to scan. */
import { readFile } from 'node:fs/promises';
import { Value } from 'typebox/value';
import { Type } from '../platform/configuration.ts';
import { POD_AUTH_PATH, POD_INPUT_PATH, PodInput } from '../core/protocol/pod-messages.ts';

export const ScannerConfiguration = Type.Object({
  SCAN_INPUT: Type.String({ default: POD_INPUT_PATH, description: 'the file that says what to scan' }),
  SCAN_AUTH: Type.String({
    default: POD_AUTH_PATH,
    description: 'a folder with files username and password, or cookie; it may be missing',
  }),
  POD_NAME: Type.String({ default: 'local', maxLength: 253, description: 'the name of this attempt, at most 253 characters' }),
  TERMINATION_LOG: Type.String({ default: '/dev/termination-log', description: 'the file that the last message is written to' }),
  CHROMIUM_PATH: Type.Optional(Type.String({ description: 'the path of a Chromium' })),
  PATH: Type.String({ default: '/usr/local/bin:/usr/bin:/bin', description: 'where programs are looked for' }),
  HOME: Type.Optional(Type.String({ description: "the user's folder" })),
  LOG_LEVEL: Type.Union([Type.Literal('debug'), Type.Literal('info'), Type.Literal('warn'), Type.Literal('error')], {
    default: 'info',
    description: 'debug, info, warn or error',
  }),
});

/** The largest input that is read, in bytes; a Secret holds no more than 1 MiB. */
const INPUT_MAX_BYTES = 1024 * 1024;

/**
 * Reads the pod's input.
 * @throws Error that names the file and every mistake in it, without its values: they are secrets
 */
export async function readPodInput(file: string): Promise<PodInput> {
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (error) {
    throw new Error(
      `The scan's input cannot be read from ${file} (${(error as NodeJS.ErrnoException).code ?? 'unknown'}); SCAN_INPUT must name it.`,
    );
  }
  if (text.length > INPUT_MAX_BYTES) throw new Error(`${file} is larger than ${INPUT_MAX_BYTES} bytes.`);
  let input: unknown;
  try {
    input = JSON.parse(text);
  } catch {
    throw new Error(`${file} is not JSON.`);
  }
  if (!Value.Check(PodInput, input)) {
    const mistakes = [...Value.Errors(PodInput, input)].map(({ instancePath, message }) => `${instancePath || '/'} ${message}`);
    throw new Error(`${file} is not a scan's input: ${mistakes.slice(0, 10).join('; ')}.`);
  }
  if (!URL.canParse(input.options.url)) throw new Error(`${file} is not a scan's input: /options/url is no URL.`);
  if (Number.isNaN(Date.parse(input.deadline))) throw new Error(`${file} is not a scan's input: /deadline is no time.`);
  return input;
}
