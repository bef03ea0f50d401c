/** What the API reads from its environment. */
import { MAX_PAGES_CEILING } from '../core/scan/options.ts';
import { readConfiguration, secret, Type } from '../platform/configuration.ts';
import type { Static } from 'typebox';
import { TracingEnvironment } from '../platform/open-tracer.ts';
import { readTargetRules } from '../platform/target-rules.ts';
import type { TargetRules } from '../core/scan/targets.ts';

const LEVELS = ['debug', 'info', 'warn', 'error', 'silent'] as const;
const http = (description: string, rest: object = {}) => Type.String({ pattern: '^https?://[^\\s/]', description, ...rest });
const text = (description: string, rest: object = {}) => Type.String({ minLength: 1, description, ...rest });

export const Environment = Type.Object({
  HOST: text('an address to listen on, such as 127.0.0.1, or 0.0.0.0 for every one', { default: '127.0.0.1' }),
  PORT: Type.Integer({ minimum: 0, maximum: 65535, default: 8080, description: 'a port from 1 to 65535, or 0 for any free one' }),
  PUBLIC_BASE_URL: Type.Optional(http("the service's base address as its callers know it, such as https://curbcut.example.com")),
  CURBCUT_NAMESPACE: Type.String({
    pattern: '^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$',
    default: 'curbcut',
    description: 'the Kubernetes namespace in which submitted scans live',
  }),
  KUBECONFIG: Type.Optional(text("the path of a kubeconfig; absent, the pod's service account is used")),
  MONGODB_URL: Type.String({
    pattern: '^mongodb(\\+srv)?://',
    ...secret,
    description: 'a connection string such as mongodb://host:27017/curbcut',
  }),
  NATS_URL: Type.Optional(Type.String({ pattern: '^(nats|tls|ws|wss)://', ...secret, description: 'an address such as nats://host:4222' })),
  NATS_CREDENTIALS_FILE: Type.Optional(text('the path of a NATS .creds file')),
  S3_ENDPOINT: http('the address of an S3-compatible object store, such as https://s3.example.com'),
  S3_PUBLIC_ENDPOINT: Type.Optional(http('the address of the object store as callers reach it, for download links')),
  S3_REGION: text('the region of the object store', { default: 'us-east-1' }),
  S3_BUCKET: text('the name of a bucket'),
  S3_ACCESS_KEY_ID: text('the id of an access key'),
  S3_SECRET_ACCESS_KEY: text('the secret of an access key', secret),
  ALLOW_TARGETS: Type.String({ default: '', description: 'a comma-separated list of CIDRs, host names or address:port' }),
  DENY_TARGETS: Type.String({ default: '', description: 'a comma-separated list of CIDRs' }),
  MAX_PAGES_LIMIT: Type.Integer({
    minimum: 1,
    maximum: MAX_PAGES_CEILING,
    default: 500,
    description: `the most pages of one scan, from 1 to ${MAX_PAGES_CEILING}`,
  }),
  MAX_LIVE_SCANS: Type.Integer({ minimum: 1, default: 2000, description: 'the most scans that are live at once, from 1' }),
  ...TracingEnvironment,
  LOG_LEVEL: Type.Unsafe<(typeof LEVELS)[number]>({
    type: 'string',
    enum: [...LEVELS],
    default: 'info',
    description: `one of ${LEVELS.join(', ')}`,
  }),
});

export interface Configuration extends Readonly<Omit<Static<typeof Environment>, 'ALLOW_TARGETS' | 'DENY_TARGETS' | 'PUBLIC_BASE_URL'>> {
  publicBaseUrl: string;
  targets: TargetRules;
}

/** @throws ConfigurationError with every mistake at once */
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
