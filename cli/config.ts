/** What the command line reads of its environment. */
import { ConfigurationError, Type, readConfiguration, secret } from '../platform/configuration.ts';
import { CannotTell } from './errors.ts';

const Environment = Type.Object({
  CURBCUT_URL: Type.String({
    pattern: '^https?://[^\\s]+$',
    description: 'the address of a Curbcut service, such as https://curbcut.example.org',
  }),
  CURBCUT_API_KEY: Type.String({
    // What is no key at all (a quote too many, a line break) would fail in the header, not on the server.
    pattern: '^[\\x21-\\x7e]+$',
    description: 'an API key of your organisation (svc_live_…)',
    ...secret,
  }),
});

/** The service's address and the key. @throws CannotTell that names what to set */
export function readEnvironment(environment: Record<string, string | undefined>) {
  try {
    return readConfiguration(Environment, environment);
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    throw new CannotTell(
      ...error.problems,
      'Set what is missing in the environment (in CI: as secrets), for example: export CURBCUT_URL=https://… CURBCUT_API_KEY=svc_live_…',
      'Beside `make run`: . .curbcut/env',
    );
  }
}
