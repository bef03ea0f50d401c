/** The step of action.yml, as a runner of GitHub starts it. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { parse } from 'yaml';

export const ROOT = join(import.meta.dirname, '..', '..', '..');

interface ActionFile {
  inputs: Record<string, { default?: string; required?: boolean }>;
  runs: { steps: { run: string; env: Record<string, string> }[] };
}

/** The script of the step and its variables. @param token that of the job, which is the default of an input */
export async function actionStep(
  inputs: Readonly<Record<string, string>>,
  token: string,
): Promise<{ script: string; variables: Record<string, string> }> {
  const file = parse(await readFile(join(ROOT, 'action.yml'), 'utf8')) as ActionFile;
  for (const name of Object.keys(inputs)) expect(file.inputs, name).to.have.property(name);
  const [{ run: script, env }] = file.runs.steps as [ActionFile['runs']['steps'][number]];
  const valueOf = (name: string): string => (inputs[name] ?? file.inputs[name]!.default ?? '').replace('${{ github.token }}', token);
  const variables = Object.fromEntries(
    Object.entries(env).map(([name, text]) => [name, text.replace(/\$\{\{ inputs\.([\w-]+) \}\}/g, (_, input: string) => valueOf(input))]),
  );
  return { script, variables };
}

/** What a step wrote to `$GITHUB_OUTPUT`. */
export const outputsIn = (text: string): Record<string, string> =>
  Object.fromEntries(
    text
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => line.split('=') as [string, string]),
  );
