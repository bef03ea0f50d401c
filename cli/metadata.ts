/** The options `--metadata KEY=VALUE` and `--no-ci-metadata`. */
import { METADATA_MAX, metadataMistake, readPairs, type Metadata } from '../core/scan/metadata.ts';
import { ciMetadata } from './ci-metadata.ts';
import { UsageError } from './errors.ts';
import { shellWord } from './text-lines.ts';

export const METADATA_OPTIONS = {
  metadata: {
    value: 'KEY=VALUE',
    multiple: true,
    meaning: `what is scanned, such as branch=main, beside what the CI system says; at most ${METADATA_MAX} pairs`,
  },
  'no-ci-metadata': { meaning: 'no commit, branch, pull request, repository and address of the build from the CI system' },
} as const;

interface MetadataValues {
  metadata?: string[];
  'no-ci-metadata': boolean;
  'idempotency-key'?: string;
}

/** Reads pairs. @throws UsageError if one is not allowed or a key is given twice */
export function pairsFrom(command: string, texts: readonly string[] = []): Metadata {
  const read = readPairs(texts);
  if (!read.ok) throw new UsageError(read.message, command);
  return read.metadata;
}

/**
 * The metadata of a scan: what is given, and what the CI system says beside it; undefined if there is none. A later build with the same
 * idempotency key must send the same request, so with a key the address of the build is left out.
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
  if (values['idempotency-key'] !== undefined) delete found.metadata.build_url;
  const metadata = { ...found.metadata, ...stated };
  const mistake = metadataMistake(metadata);
  if (mistake !== null) throw new UsageError(`${mistake} With --no-ci-metadata only those of --metadata count.`, command);
  return Object.keys(metadata).length === 0 ? undefined : metadata;
}

/** The options beside the given ones that make the same request in another build or outside of the CI system; empty if none are needed. */
export function sameMetadata(metadata: Metadata = {}, { metadata: given = [] }: MetadataValues): string {
  const stated = pairsFrom('scan', given);
  const found = Object.entries(metadata).filter(([key]) => !Object.hasOwn(stated, key));
  return found.length === 0
    ? ''
    : [' --no-ci-metadata', ...found.map(([key, value]) => `--metadata ${shellWord(`${key}=${value}`)}`)].join(' ');
}
