/** Steps as users type them. Apart from the schema, because the command line loads a parser of YAML only for `--prepare`. */
import { parse } from 'yaml';
import { snakeKeys } from '../schemas.ts';

/** The list with the names of its fields in snake_case, as the HTTP API takes it. It is not checked against a schema. */
type ReadSteps = { ok: true; steps: unknown[] } | { ok: false; message: string };

/** Reads a list of steps. An empty text is an empty list. */
export function readSteps(text: string): ReadSteps {
  let value: unknown;
  try {
    value = parse(text, { maxAliasCount: 0, logLevel: 'error' });
  } catch (error) {
    // The lines after the first one repeat the text.
    return { ok: false, message: `The steps are not valid YAML: ${String((error as Error).message.split('\n')[0]).replace(/[:.]$/, '')}.` };
  }
  if (value === null || value === undefined) return { ok: true, steps: [] };
  if (!Array.isArray(value)) return { ok: false, message: 'The steps must be a list, such as "- click: button.accept".' };
  return {
    ok: true,
    steps: value.map((step: unknown) => (typeof step === 'object' && step !== null && !Array.isArray(step) ? snakeKeys(step) : step)),
  };
}
