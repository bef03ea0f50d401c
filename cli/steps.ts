/** The file of `--prepare`. */
import { readFile } from 'node:fs/promises';
import { Value } from 'typebox/value';
import { fromSnakeStep, PREPARE_MAX, type PrepareStep, SnakeStep } from '../core/scan/steps.ts';
import { readSteps } from '../core/scan/steps-text.ts';
import { errorMessage, UsageError } from './errors.ts';

/** Reads the steps of a file in YAML or JSON. @throws UsageError */
export async function stepsOf(file: string): Promise<PrepareStep[]> {
  const fail = (why: string): never => {
    throw new UsageError(`--prepare ${file}: ${why}`, 'scan');
  };
  const text = await readFile(file, 'utf8').catch((error: unknown) => fail(`the file cannot be read (${errorMessage(error)}).`));
  const read = readSteps(text);
  if (!read.ok) return fail(read.message);
  const { steps } = read;
  if (steps.length > PREPARE_MAX) return fail(`there are ${steps.length} steps, more than ${PREPARE_MAX}.`);
  return steps.map((step, index) => {
    if (Value.Check(SnakeStep, step)) return fromSnakeStep(step);
    const [mistake] = Value.Errors(SnakeStep, step);
    return fail(`step ${index + 1} is not valid: ${mistake?.instancePath ?? ''} ${mistake?.message ?? ''}`.replace(/: +/g, ': ') + '.');
  });
}
