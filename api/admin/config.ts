/** The settings of `curbcut-admin`, read from its environment. */
import { readConfiguration, Type } from '../../platform/configuration.ts';
import { databaseProblems, DatabaseSettings, MailSettings } from '../../platform/settings.ts';

const Environment = Type.Object({ ...DatabaseSettings, SMTP_URL: MailSettings.SMTP_URL });

/** @throws ConfigurationError */
export const readAdminConfiguration = (environment: Record<string, string | undefined>) =>
  readConfiguration(Environment, environment, databaseProblems(environment));
