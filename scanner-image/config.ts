/** The configuration of the scanner pod: its environment, and the input file with the scan. */
import { readFile } from 'node:fs/promises';
import { Value } from 'typebox/value';
import { Type } from '../platform/configuration.ts';
import { CURBCUT_VERSION } from '../platform/version.ts';
import { POD_AUTH_PATH, POD_INPUT_PATH, PodInput } from '../core/protocol/pod-messages.ts';

export const ScannerConfiguration = Type.Object({
  SCAN_INPUT: Type.String({ default: POD_INPUT_PATH, description: 'the file with the scan to run' }),
  SCAN_AUTH: Type.String({
    default: POD_AUTH_PATH,
    description: "the folder with the keys of the sign-in's Secret, one file per key; optional",
  }),
  JOB_COMPLETION_INDEX: Type.Integer({ default: 0, minimum: 0, description: "this pod's shard, a whole number from 0" }),
  JOB_INDEX_FAILURE_COUNT: Type.Integer({ default: 0, minimum: 0, description: 'the earlier attempts that failed, a whole number from 0' }),
  JOB_INDEX_IGNORED_FAILURE_COUNT: Type.Integer({
    default: 0,
    minimum: 0,
    description: 'the earlier attempts that were disrupted, a whole number from 0',
  }),
  TERMINATION_LOG: Type.String({ default: '/dev/termination-log', description: 'the file for the termination message' }),
  CHROMIUM_PATH: Type.Optional(Type.String({ description: 'the path of the Chromium executable' })),
  PATH: Type.String({ default: '/usr/local/bin:/usr/bin:/bin', description: 'the folders of executables' }),
  HOME: Type.Optional(Type.String({ description: 'the home folder' })),
  LOG_LEVEL: Type.Union([Type.Literal('debug'), Type.Literal('info'), Type.Literal('warn'), Type.Literal('error')], {
    default: 'info',
    description: 'debug, info, warn or error',
  }),
});

/** The largest input file, in bytes. A Secret cannot hold more than 1 MiB. */
const INPUT_MAX_BYTES = 1024 * 1024;

/**
 * Reads the input file of the pod.
 * @throws Error that names the file and every mistake in it, without the values, because they are secrets
 */
export async function readPodInput(file: string): Promise<PodInput> {
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (error) {
    throw new Error(
      `Reading the scan input ${file} failed (${(error as NodeJS.ErrnoException).code ?? 'unknown'}). Set SCAN_INPUT to the path of the file.`,
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
    const { version } = Object(input) as { version?: unknown };
    const other =
      version === CURBCUT_VERSION ? '' : ` It is of version ${String(version ?? 'unknown')}, and this scanner of ${CURBCUT_VERSION}.`;
    throw new Error(`${file} is not a valid scan input: ${mistakes.slice(0, 10).join('; ')}.${other}`);
  }
  if (!URL.canParse(input.options.url)) throw new Error(`${file} is not a valid scan input: /options/url is not a URL.`);
  for (const name of ['deadline', 'uploadDeadline'] as const)
    if (Number.isNaN(Date.parse(input[name]))) throw new Error(`${file} is not a valid scan input: /${name} is not a date-time.`);
  return input;
}
