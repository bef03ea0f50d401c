/** The environment variables of the command line. */
import { CliError } from './errors.ts';

interface Variable {
  pattern: RegExp;
  /** Completes the sentence "… must be". */
  expected: string;
  secret?: boolean;
}

const VARIABLES = {
  CURBCUT_URL: { pattern: /^https?:\/\/\S+$/, expected: 'the address of a Curbcut service, such as https://curbcut.example.org' },
  // A stray quote or line break would fail when the header is set, before the server could reject the key.
  CURBCUT_API_KEY: { pattern: /^[\x21-\x7e]+$/, expected: 'an API key of your organisation (svc_live_…)', secret: true },
} as const satisfies Record<string, Variable>;

function problemOf(name: string, { pattern, expected, secret }: Variable, value: string | undefined): string[] {
  if (value === undefined || value === '') return [`${name} is not set; it must be ${expected}.`];
  if (pattern.test(value)) return [];
  return [`${name} is ${secret === true ? '(hidden)' : JSON.stringify(value)}; it must be ${expected}.`];
}

/** The service's address and the API key. @throws CliError that names every variable to set */
export function readEnvironment(environment: Record<string, string | undefined>): Record<keyof typeof VARIABLES, string> {
  const problems = Object.entries(VARIABLES).flatMap(([name, variable]) => problemOf(name, variable, environment[name]));
  if (problems.length > 0)
    throw new CliError(
      ...problems,
      'Set the variables in the environment (in CI: as secrets), for example: export CURBCUT_URL=https://… CURBCUT_API_KEY=svc_live_…',
      'If you use `make run`: . .curbcut/env',
    );
  return { CURBCUT_URL: environment.CURBCUT_URL!, CURBCUT_API_KEY: environment.CURBCUT_API_KEY! };
}
