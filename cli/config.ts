/** The environment variables of the command line. */
import { CliError } from './errors.ts';
import { connectionOf } from './login-file.ts';

interface Variable {
  valid(value: string): boolean;
  /** Completes the sentence "… must be". */
  expected: string;
  /** Whether a value must not be printed. */
  secret(value: string): boolean;
}

/** fetch rejects an address with a user name or password, which would also appear in every message about the service. */
const hasCredentials = (address: string): boolean => /^[a-z]+:\/\/[^/?#]*@/i.test(address);

/** Whether a secret can be sent in a header. fetch rejects others, such as one with a line break, with a message that contains it. */
export const canBeHeader = (secret: string): boolean => /^[\x21-\x7e]+$/.test(secret);

const VARIABLES = {
  CURBCUT_URL: {
    valid: (address) => /^https?:\/\/\S+$/.test(address) && URL.canParse(address) && !hasCredentials(address),
    expected: 'the address of a Curbcut service without a user name or password, such as https://curbcut.example.org',
    secret: hasCredentials,
  },
  CURBCUT_API_KEY: {
    valid: canBeHeader,
    expected: 'an API key of your organisation (svc_live_…)',
    secret: () => true,
  },
} as const satisfies Record<string, Variable>;

function problemOf(name: string, { valid, expected, secret }: Variable, value: string | undefined): string[] {
  if (value === undefined || value === '') return [`${name} is not set; it must be ${expected}.`];
  if (valid(value)) return [];
  return [`${name} is ${secret(value) ? '(hidden)' : JSON.stringify(value)}; it must be ${expected}.`];
}

/** The service's address and the API key, of the environment or of `curbcut login`. @throws CliError that names every variable to set */
export function readEnvironment(environment: Record<string, string | undefined>): Record<keyof typeof VARIABLES, string> {
  const found = connectionOf(environment);
  const problems = Object.entries(VARIABLES).flatMap(([name, variable]) =>
    problemOf(name, variable, found[name as keyof typeof VARIABLES]),
  );
  const onlyKey = environment.CURBCUT_API_KEY && !environment.CURBCUT_URL;
  if (problems.length > 0)
    throw new CliError(
      ...problems,
      'Set the variables in the environment (in CI: as secrets), for example: export CURBCUT_URL=https://… CURBCUT_API_KEY=svc_live_…',
      'Or store them on this machine: curbcut login https://…',
      ...(onlyKey
        ? ['The key in CURBCUT_API_KEY is not sent to the service of curbcut login: set CURBCUT_URL too, or unset the key.']
        : []),
      'If you use `make run`: . .curbcut/env',
    );
  return { CURBCUT_URL: found.CURBCUT_URL!, CURBCUT_API_KEY: found.CURBCUT_API_KEY! };
}
