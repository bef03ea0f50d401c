/** The options `--metadata KEY=VALUE` and `--no-ci-metadata`. */
import { METADATA_MAX, metadataMistake, readPairs, type Metadata } from '../core/scan/metadata.ts';
import { ciMetadata } from './ci-metadata.ts';
import { UsageError } from './errors.ts';

/** For `parseArgs`. */
export const METADATA_ARGUMENTS = {
  metadata: { type: 'string', multiple: true },
  'no-ci-metadata': { type: 'boolean', default: false },
} as const;

export const METADATA_HELP = [
  {
    option: '--metadata KEY=VALUE',
    meaning: `what is scanned, such as branch=main, beside what the CI system says; at most ${METADATA_MAX} pairs`,
  },
  { option: '--no-ci-metadata', meaning: 'no commit, branch, pull request, repository and address of the build from the CI system' },
];

interface MetadataValues {
  metadata?: string[];
  'no-ci-metadata': boolean;
}

/** Reads pairs. @throws UsageError if one is not allowed or a key is given twice */
export function pairsFrom(command: string, texts: readonly string[] = []): Metadata {
  const read = readPairs(texts);
  if (!read.ok) throw new UsageError(read.message, command);
  return read.metadata;
}

/**
 * The metadata of a scan: what is given, and what the CI system says beside it; undefined if there is none.
 * @param note called with what is left out of the values of the CI system @throws UsageError
 */
export function metadataFrom(
  command: string,
  values: MetadataValues,
  environment: Readonly<Record<string, string | undefined>>,
  note: (text: string) => void,
): Metadata | undefined {
  const stated = pairsFrom(command, values.metadata);
  const found = values['no-ci-metadata'] ? { metadata: {}, mistakes: [] } : ciMetadata(environment);
  for (const mistake of found.mistakes) note(`${mistake} It is left out.`);
  const metadata = { ...found.metadata, ...stated };
  const mistake = metadataMistake(metadata);
  if (mistake !== null) throw new UsageError(`${mistake} With --no-ci-metadata only those of --metadata count.`, command);
  return Object.keys(metadata).length === 0 ? undefined : metadata;
}
