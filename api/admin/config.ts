/** The settings of `curbcut-admin`, read from its environment. */
import { Type } from '../../platform/configuration.ts';
import { DatabaseSettings } from '../../platform/settings.ts';

export const Environment = Type.Object(DatabaseSettings);
