/** Reads a process's environment once, against a schema, and tells of every mistake at once. */
import { Type, type Static, type TObject, type TSchema } from 'typebox';
import { Value } from 'typebox/value';

/** All that is wrong with an environment, a line a variable: its name, what it holds (secrets masked) and what is allowed. */
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

/** Marks a variable whose value is never shown. */
export const secret = { secret: true } as const;

/** A comma-separated list of non-empty, trimmed items. Absent or empty is an empty list. */
export function listOf(value: string | undefined): string[] {
  return (value ?? '')
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');
}

/**
 * Parses the variables that `schema` names from an environment. Numbers and booleans are read from their text, defaults
 * are filled in, an empty string counts as absent. Each property's `description` says what is allowed, as the end of the
 * sentence "… must be ".
 * @param further mistakes that a schema cannot see; they are told after those that it does
 * @returns a frozen object of the schema's type
 * @throws ConfigurationError with every mistake
 */
export function readConfiguration<T extends TObject>(
  schema: T,
  environment: Record<string, string | undefined>,
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
    const value = Value.Convert(property, raw);
    if (Value.Check(property, value)) result[name] = value;
    else
      problems.push(
        `${name} is ${(property as { secret?: boolean }).secret ? '(hidden)' : JSON.stringify(raw)}; it must be ${wanted(property)}.`,
      );
  }
  problems.push(...further);
  if (problems.length > 0) throw new ConfigurationError(problems);
  return Object.freeze(result) as Static<T>;
}

export { Type };
