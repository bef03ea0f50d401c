/** Validates a process's environment against a schema, and reports all mistakes together. */
import { Type, type Static, type TObject, type TSchema } from 'typebox';
import { Value } from 'typebox/value';

/** Every mistake in an environment, one line per variable: its name, its value (secrets are hidden) and what is allowed. */
export class ConfigurationError extends Error {
  readonly problems: readonly string[];
  constructor(problems: readonly string[]) {
    super(
      `The configuration has ${problems.length} mistake${problems.length === 1 ? '' : 's'}:\n${problems.map((problem) => `  - ${problem}`).join('\n')}`,
    );
    this.name = 'ConfigurationError';
    this.problems = problems;
  }
}

const wanted = (schema: TSchema): string => (schema as { description?: string }).description ?? JSON.stringify(schema);

/** The variables of a process. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** Marks a variable whose value may come from a file, which is read again while the process runs (`openSettingFiles`). */
export const fromFile = { fromFile: true } as const;

/** Marks a variable whose value must not appear in messages. */
export const secret = { secret: true, ...fromFile } as const;

export const isFromFile = (property: TSchema): boolean => (property as { fromFile?: boolean }).fromFile === true;

/**
 * Adds a check that a schema cannot express.
 * @param mistakes returns a sentence for each mistake in a value
 */
export const checked = (mistakes: (value: string) => readonly string[]) => ({ mistakes });

/** Returns a sentence if a URL with credentials cannot be used. The sentence names no part of it. */
export function addressMistakes(name: string, value: string): string[] {
  const url = URL.parse(value);
  // A # or ? in a password ends the host before the @.
  if (url !== null && url.port !== '0' && !/[?#].*@/.test(value) && [url.username, url.password].every(isDecodable)) return [];
  return [
    `${name} is (hidden), which is not a valid address; its port must be from 1 to 65535, and special characters of its user and password must be percent-encoded, such as # as %23, % as %25 and ? as %3F.`,
  ];
}

function isDecodable(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}

/** Splits a comma-separated list into trimmed, non-empty items. Returns an empty list if the value is absent or empty. */
export function listOf(value: string | undefined): string[] {
  return (value ?? '')
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');
}

/**
 * Parses the variables that `schema` names. Numbers and booleans are converted from text, defaults are filled in, and an
 * empty string counts as absent. Each property's `description` completes the sentence "it must be …".
 * @param further mistakes that other checks found; they are reported after those of the schema
 * @returns a frozen object of the schema's type
 * @throws ConfigurationError with every mistake
 */
export function readConfiguration<T extends TObject>(
  schema: T,
  environment: Environment,
  further: readonly string[] = [],
): Readonly<Static<T>> {
  const problems: string[] = [];
  const result: Record<string, unknown> = {};
  for (const [name, property] of Object.entries(schema.properties as Record<string, TSchema>)) {
    const raw = environment[name];
    const optional = !(schema.required as string[] | undefined)?.includes(name);
    const fallback = (property as { default?: unknown }).default;
    if (raw === undefined || raw === '') {
      if (fallback !== undefined) result[name] = fallback;
      else if (!optional) problems.push(`${name} is not set; it must be ${wanted(property)}.`);
      continue;
    }
    const mistakes = mistakesIn(name, property, raw);
    if (mistakes.length === 0) result[name] = Value.Convert(property, raw);
    problems.push(...mistakes);
  }
  problems.push(...further);
  if (problems.length > 0) throw new ConfigurationError(problems);
  return Object.freeze(result) as Static<T>;
}

/** Returns a sentence for each mistake in the value of one variable. */
export function mistakesIn(name: string, property: TSchema, raw: string): readonly string[] {
  if (Value.Check(property, Value.Convert(property, raw)))
    return (property as { mistakes?: (value: string) => readonly string[] }).mistakes?.(raw) ?? [];
  const shown = (property as { secret?: boolean }).secret ? '(hidden)' : JSON.stringify(raw);
  return [`${name} is ${shown}; it must be ${wanted(property)}.`];
}

/** Reports the mistakes of a ConfigurationError without a stack trace and exits with code 1. @throws every other error */
export function exitOnMistake(error: unknown): never {
  if (!(error instanceof ConfigurationError)) throw error;
  console.error(error.message);
  process.exit(1);
}

export { Type };
