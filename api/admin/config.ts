/** The settings of `curbcut-admin`, read from its environment. */
import { readConfiguration, Type } from '../../platform/configuration.ts';
import { databaseProblems, DatabaseSettings } from '../../platform/settings.ts';

const Environment = Type.Object(DatabaseSettings);

/** @throws ConfigurationError */
export const readAdminConfiguration = (environment: Record<string, string | undefined>) =>
  readConfiguration(Environment, environment, databaseProblems(environment));
