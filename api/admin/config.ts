/** The settings of `curbcut-admin`, read from its environment. */
import { readConfiguration, Type, type Environment as Variables } from '../../platform/configuration.ts';
import { openSettingFiles } from '../../platform/setting-files.ts';
import { DatabaseSettings, MailSettings, TrustSettings } from '../../platform/settings.ts';

const Environment = Type.Object({ ...DatabaseSettings, ...TrustSettings, SMTP_URL: MailSettings.SMTP_URL });

/** @throws ConfigurationError */
export function readAdminConfiguration(variables: Variables) {
  const { environment, problems } = openSettingFiles(Environment, variables);
  return readConfiguration(Environment, environment, problems);
}
