/** The API's settings, read from its environment. */
import type { Static } from 'typebox';
import { MAX_PAGES_CEILING } from '../core/scan/options.ts';
import type { TargetRules } from '../core/scan/targets.ts';
import { readConfiguration, Type } from '../platform/configuration.ts';
import {
  DatabaseSettings,
  httpUrl,
  KubernetesSettings,
  NatsSettings,
  port,
  ProcessSettings,
  S3Settings,
  TargetSettings,
  TracingSettings,
} from '../platform/settings.ts';
import { readTargetRules } from '../platform/target-rules.ts';

export const Environment = Type.Object({
  ...ProcessSettings,
  PORT: port(8080),
  PUBLIC_BASE_URL: Type.Optional(httpUrl("the service's base address that callers use, such as https://curbcut.example.com")),
  ...KubernetesSettings,
  ...DatabaseSettings,
  ...NatsSettings,
  ...S3Settings,
  S3_PUBLIC_ENDPOINT: Type.Optional(httpUrl('the address of the object store that callers use, for download links')),
  ...TargetSettings,
  MAX_PAGES_LIMIT: Type.Integer({
    minimum: 1,
    maximum: MAX_PAGES_CEILING,
    default: 500,
    description: `the maximum number of pages of one scan, from 1 to ${MAX_PAGES_CEILING}`,
  }),
  MAX_LIVE_SCANS: Type.Integer({ minimum: 1, default: 2000, description: 'the maximum number of live scans, from 1' }),
  ...TracingSettings,
});

export interface Configuration extends Readonly<Omit<Static<typeof Environment>, 'ALLOW_TARGETS' | 'DENY_TARGETS' | 'PUBLIC_BASE_URL'>> {
  publicBaseUrl: string;
  targets: TargetRules;
}

/** @throws ConfigurationError that lists every problem */
export function readApiConfiguration(environment: Record<string, string | undefined>): Configuration {
  const { targets, problems } = readTargetRules(environment);
  const read = readConfiguration(Environment, environment, problems);
  const { PUBLIC_BASE_URL, ALLOW_TARGETS: _allow, DENY_TARGETS: _deny, ...rest } = read;
  return Object.freeze({
    ...rest,
    publicBaseUrl: (PUBLIC_BASE_URL ?? `http://${read.HOST === '0.0.0.0' ? 'localhost' : read.HOST}:${read.PORT}`).replace(/\/+$/, ''),
    targets,
  });
}
