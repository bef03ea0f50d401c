/**
 * Metadata of scans: pairs of key and value that say which version of a site was scanned, such as its commit and branch. Loads nothing,
 * because every command of the command line imports it; metadata-schema.ts has its JSON schema.
 */

/** The maximum number of pairs of a scan. */
export const METADATA_MAX = 10;
const KEY_MAX = 63;
/** The maximum length of a value, in characters. */
export const METADATA_VALUE_MAX = 256;
/** The maximum length of `KEY=VALUE`. */
export const METADATA_PAIR_MAX = KEY_MAX + 1 + METADATA_VALUE_MAX;

/** The key of a Kubernetes label without its prefix. It cannot contain `=`, so that `KEY=VALUE` is unambiguous. */
export const METADATA_KEY = '^[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$';
/** Control characters, line ends, marks that change the direction of a text, and halves of characters. */
const UNPRINTABLE = '\\u0000-\\u001f\\u007f-\\u009f\\u2028\\u2029\\u202a-\\u202e\\u2066-\\u2069\\ud800-\\udfff';
export const METADATA_VALUE = `^[^\\s${UNPRINTABLE}](?:[^${UNPRINTABLE}]*[^\\s${UNPRINTABLE}])?$`;

const KEY_RULE = `1 to ${KEY_MAX} letters, digits, '-', '_' and '.', with a letter or digit at both ends`;

/** What the patterns of keys and values demand, after "must". */
export const METADATA_RULES: Readonly<Record<string, string>> = {
  [METADATA_KEY]: `have a key of ${KEY_RULE}`,
  [METADATA_VALUE]: 'be printable text without a space at either end',
};

export type Metadata = Record<string, string>;

/** The keys that Curbcut shows by name and that the command line sets from the variables of a CI system. */
export const WELL_KNOWN_METADATA = {
  commit: 'The full hash of the commit that was built.',
  branch: 'The branch that was built; of a pull request, its source branch.',
  pull_request: 'The number of the pull request or merge request.',
  repository: 'The address of the repository.',
  build_url: 'The address of the build or pipeline.',
} as const;
export type WellKnownKey = keyof typeof WELL_KNOWN_METADATA;

const isKey = new RegExp(METADATA_KEY, 'u');
const isValue = new RegExp(METADATA_VALUE, 'u');

/** Returns why a pair is not allowed, as a sentence that names its key; null if it is allowed. */
function pairMistake(key: string, value: string): string | null {
  if (!isKey.test(key)) return `The metadata key ${JSON.stringify(key)} must have ${KEY_RULE}.`;
  const length = [...value].length;
  if (length < 1 || length > METADATA_VALUE_MAX) return `The metadata value of ${key} must have 1 to ${METADATA_VALUE_MAX} characters.`;
  return isValue.test(value) ? null : `The metadata value of ${key} must ${METADATA_RULES[METADATA_VALUE]}.`;
}

/** Returns the first mistake of metadata, as a sentence; null if there is none. */
export function metadataMistake(metadata: Metadata): string | null {
  const pairs = Object.entries(metadata);
  if (pairs.length > METADATA_MAX) return `A scan has at most ${METADATA_MAX} pairs of metadata, and ${pairs.length} are given.`;
  for (const [key, value] of pairs) {
    const mistake = pairMistake(key, value);
    if (mistake !== null) return mistake;
  }
  return null;
}

/** Reads `KEY=VALUE`; null if it has no `=`. Does not check key and value. */
export function readPair(text: string): [key: string, value: string] | null {
  const at = text.indexOf('=');
  return at < 0 ? null : [text.slice(0, at), text.slice(at + 1)];
}

/** Reads pairs as users write them, each as `KEY=VALUE`. `message` is the first mistake, as a sentence. */
export function readPairs(texts: readonly string[]): { ok: true; metadata: Metadata } | { ok: false; message: string } {
  const pairs: [string, string][] = [];
  for (const text of texts) {
    const pair = readPair(text);
    if (pair === null) return { ok: false, message: `Metadata must be KEY=VALUE, such as branch=main, and not ${JSON.stringify(text)}.` };
    if (pairs.some(([key]) => key === pair[0]))
      return { ok: false, message: `The metadata key ${JSON.stringify(pair[0])} is given twice.` };
    pairs.push(pair);
  }
  const metadata = Object.fromEntries(pairs);
  const message = metadataMistake(metadata);
  return message === null ? { ok: true, metadata } : { ok: false, message };
}

/** Writes a pair as `readPair` reads it. */
export const pairText = ([key, value]: readonly [key: string, value: string]): string => `${key}=${value}`;

/** Shortens the hash of a commit for where there is little space; any other text stays. */
export const shortCommit = (commit: string): string => (/^[0-9a-f]{12,}$/i.test(commit) ? commit.slice(0, 8) : commit);

/** The pairs in the order in which they are shown: well-known keys first, then by key. */
export function orderedMetadata(metadata: Metadata): [key: string, value: string][] {
  const known = Object.keys(WELL_KNOWN_METADATA);
  const rank = (key: string): number => (known.includes(key) ? known.indexOf(key) : known.length);
  return Object.entries(metadata).sort(([a], [b]) => rank(a) - rank(b) || (a < b ? -1 : 1));
}

/** All pairs in one line, with a short commit. */
export function metadataLine(metadata: Metadata): string {
  return orderedMetadata(metadata)
    .map(([key, value]) => `${key}: ${key === 'commit' ? shortCommit(value) : value}`)
    .join('  ·  ');
}

/** What names a scan's version in a row of a list: the pull request or branch, and the commit; empty if none is known. */
export function versionText({ commit, branch, pull_request: pullRequest }: Metadata): string {
  const name = branch ?? (pullRequest === undefined ? undefined : `#${pullRequest}`);
  return [name, commit && shortCommit(commit)].filter((part) => part !== undefined).join(' ');
}
