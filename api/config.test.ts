import { expect } from 'chai';
import { createAuthority } from '../test/support/private-authority.ts';
import { ConfigurationError } from '../platform/configuration.ts';
import { Environment, outboxSettingsOf, readApiConfiguration, settingsOf, type Configuration } from './config.ts';
import { currentOf } from '../platform/setting-files.ts';
import type { AppOptions } from './dependencies.ts';

const REQUIRED = {
  MONGODB_URL: 'mongodb://db:27017/curbcut',
  S3_ENDPOINT: 'https://s3.example.com',
  S3_BUCKET: 'reports',
  S3_ACCESS_KEY_ID: 'id',
  S3_SECRET_ACCESS_KEY: 'hush',
};
const PUBLIC_BASE_URL = 'https://curbcut.example.com';
const TURNSTILE = { TURNSTILE_SITE_KEY: 'site', TURNSTILE_SECRET_KEY: 'hush' };
const AUTHORITY = createAuthority('Acme').bundle.trim();
const ROLE = { AWS_ROLE_ARN: 'arn:aws:iam::123456789012:role/curbcut', AWS_WEB_IDENTITY_TOKEN_FILE: '/run/token' };
const OIDC = { OIDC_ISSUER: 'https://id.example.com', OIDC_CLIENT_ID: 'curbcut', OIDC_CLIENT_SECRET: 'hush' };
const problemsOf = (environment: Record<string, string | undefined>): readonly string[] => {
  try {
    readApiConfiguration(environment);
    return [];
  } catch (error) {
    if (error instanceof ConfigurationError) return error.problems;
    throw error;
  }
};

const AGENT = {
  AWS_CONTAINER_CREDENTIALS_FULL_URI: 'http://169.254.170.23/v1/credentials',
  AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: '/run/token',
};

describe('readApiConfiguration', () => {
  it('requires only the addresses and credentials of the stores', () => {
    expect(readApiConfiguration(REQUIRED)).to.deep.equal({
      ...REQUIRED,
      HOST: '127.0.0.1',
      PORT: 8080,
      METRICS_PORT: 9090,
      CURBCUT_NAMESPACE: 'curbcut-scans',
      CURBCUT_CLASS: 'curbcut',
      S3_REGION: 'us-east-1',
      S3_SESSION_SECONDS: 3600,
      NO_PROXY: '',
      MAX_PAGES_LIMIT: 500,
      MAX_LIVE_SCANS: 2000,
      MAX_RUNNING_PUBLIC_SCANS: 2,
      MAX_LIVE_PUBLIC_SCANS: 50,
      PUBLIC_SCANS_PER_ADDRESS_AND_HOUR: 5,
      PUBLIC_SCANS_PER_ADDRESS_AND_DAY: 20,
      PUBLIC_SCANS_PER_EMAIL_AND_HOUR: 3,
      PUBLIC_SCANS_PER_DOMAIN_AND_HOUR: 100,
      PUBLIC_SCANS_PER_HOUR: 500,
      PUBLIC_SCANS: false,
      PUBLIC_SCAN_RETENTION_DAYS: 30,
      TURNSTILE_VERIFY_URL: 'https://challenges.cloudflare.com/turnstile/v0/siteverify',
      TRUSTED_PROXIES: '',
      ALLOW_PREPARE_STEPS: true,
      WEBHOOKS: true,
      DASHBOARD: true,
      LOCAL_PASSWORDS: true,
      OIDC_NAME: 'single sign-on',
      MAX_EVENT_STREAMS: 1000,
      LOG_LEVEL: 'info',
      ALLOW_SCAN_SECRETS: '',
      ALLOW_TARGETS: '',
      DENY_TARGETS: '',
      TEST_TARGETS: '',
      targets: { allow: [], deny: [] },
      testTargets: [],
    });
    expect(settingsOf(readApiConfiguration(REQUIRED))).to.deep.include({
      publicBaseUrl: 'http://127.0.0.1:8080',
      allowScanSecrets: [],
      maxLiveScansPerOrganisation: 500,
      publicScans: null,
      trustedProxies: [],
      mail: false,
      identityProvider: null,
    });
    // The two of the access key are one.
    expect(problemsOf({})).to.have.lengthOf(Object.keys(REQUIRED).length - 1);
  });

  const valid: [name: string, value: string, read: (read: Configuration & AppOptions) => unknown, expected: unknown][] = [
    ['HOST', '0.0.0.0', (c) => c.HOST, '0.0.0.0'],
    ['PORT', '0', (c) => c.PORT, 0],
    ['PRIVATE_CA', AUTHORITY, (c) => c.PRIVATE_CA, AUTHORITY],
    ['HTTPS_PROXY', 'http://user:hush@proxy.example:3128', (c) => c.HTTPS_PROXY, 'http://user:hush@proxy.example:3128'],
    ['NO_PROXY', '.svc,localhost', (c) => c.NO_PROXY, '.svc,localhost'],
    ['METRICS_PORT', '9091', (c) => c.METRICS_PORT, 9091],
    ['PUBLIC_BASE_URL', 'https://curbcut.example.com/', (c) => c.publicBaseUrl, 'https://curbcut.example.com'],
    ['SMTP_URL', 'smtps://user:pass@mail:465', (c) => c.SMTP_URL, 'smtps://user:pass@mail:465'],
    ['MAIL_FROM', 'Curbcut <a11y@example.com>', (c) => c.MAIL_FROM, 'Curbcut <a11y@example.com>'],
    ['TRUSTED_PROXIES', '10.0.0.0/8, fd00::/8,192.0.2.1', (c) => c.trustedProxies, ['10.0.0.0/8', 'fd00::/8', '192.0.2.1']],
    ['PUBLIC_SCANS', 'false', (c) => c.publicScans, null],
    ['MAX_LIVE_PUBLIC_SCANS', '7', (c) => c.MAX_LIVE_PUBLIC_SCANS, 7],
    ['MAX_RUNNING_PUBLIC_SCANS', '3', (c) => c.MAX_RUNNING_PUBLIC_SCANS, 3],
    ['PUBLIC_SCANS_PER_ADDRESS_AND_HOUR', '1', (c) => c.PUBLIC_SCANS_PER_ADDRESS_AND_HOUR, 1],
    ['PUBLIC_SCANS_PER_ADDRESS_AND_DAY', '2', (c) => c.PUBLIC_SCANS_PER_ADDRESS_AND_DAY, 2],
    ['PUBLIC_SCANS_PER_EMAIL_AND_HOUR', '4', (c) => c.PUBLIC_SCANS_PER_EMAIL_AND_HOUR, 4],
    ['PUBLIC_SCANS_PER_DOMAIN_AND_HOUR', '5', (c) => c.PUBLIC_SCANS_PER_DOMAIN_AND_HOUR, 5],
    ['PUBLIC_SCANS_PER_HOUR', '6', (c) => c.PUBLIC_SCANS_PER_HOUR, 6],
    ['PUBLIC_SCAN_RETENTION_DAYS', '1', (c) => c.PUBLIC_SCAN_RETENTION_DAYS, 1],
    ['TURNSTILE_VERIFY_URL', 'http://verifier/', (c) => c.TURNSTILE_VERIFY_URL, 'http://verifier/'],
    ['ALLOW_PREPARE_STEPS', 'false', (c) => c.ALLOW_PREPARE_STEPS, false],
    ['WEBHOOKS', 'false', (c) => c.WEBHOOKS, false],
    ['DASHBOARD', 'false', (c) => c.DASHBOARD, false],
    ['OIDC_NAME', 'Keycloak', (c) => c.OIDC_NAME, 'Keycloak'],
    ['CURBCUT_NAMESPACE', 'scans', (c) => c.CURBCUT_NAMESPACE, 'scans'],
    ['CURBCUT_CLASS', 'staging', (c) => c.CURBCUT_CLASS, 'staging'],
    ['KUBECONFIG', '/etc/kube', (c) => c.KUBECONFIG, '/etc/kube'],
    ['MONGODB_URL', 'mongodb+srv://user:pass@db/', (c) => c.MONGODB_URL, 'mongodb+srv://user:pass@db/'],
    ['NATS_URL', 'tls://nats:4222', (c) => c.NATS_URL, 'tls://nats:4222'],
    ['NATS_CREDENTIALS_FILE', '/run/nats.creds', (c) => c.NATS_CREDENTIALS_FILE, '/run/nats.creds'],
    ['S3_ENDPOINT', 'http://minio:9000', (c) => c.S3_ENDPOINT, 'http://minio:9000'],
    ['S3_PUBLIC_ENDPOINT', 'https://files.example.com', (c) => c.S3_PUBLIC_ENDPOINT, 'https://files.example.com'],
    ['S3_REGION', 'eu-west-1', (c) => c.S3_REGION, 'eu-west-1'],
    ['S3_SESSION_SECONDS', '7200', (c) => c.S3_SESSION_SECONDS, 7200],
    ['AWS_ENDPOINT_URL_STS', 'https://sts.example.com', (c) => c.AWS_ENDPOINT_URL_STS, 'https://sts.example.com'],
    ['S3_BUCKET', 'b', (c) => c.S3_BUCKET, 'b'],
    ['S3_ACCESS_KEY_ID', 'k', (c) => c.S3_ACCESS_KEY_ID, 'k'],
    ['S3_SECRET_ACCESS_KEY', 's', (c) => c.S3_SECRET_ACCESS_KEY, 's'],
    [
      'ALLOW_TARGETS',
      '127.0.0.0/8, ::1, intranet.example:8080,[fd00::1]:80',
      (c) => c.targets.allow,
      ['127.0.0.0/8', '::1', 'intranet.example:8080', '[fd00::1]:80'],
    ],
    ['DENY_TARGETS', '203.0.113.0/24,2001:db8::/32', (c) => c.targets.deny, ['203.0.113.0/24', '2001:db8::/32']],
    ['ALLOW_SCAN_SECRETS', 'shop-login,acme/acme-*', (c) => c.allowScanSecrets, ['shop-login', 'acme/acme-*']],
    ['TEST_TARGETS', 'demo.example,try:8080', (c) => c.testTargets, ['demo.example', 'try:8080']],
    ['MAX_PAGES_LIMIT', '1000', (c) => c.MAX_PAGES_LIMIT, 1000],
    ['MAX_LIVE_SCANS', '1', (c) => c.MAX_LIVE_SCANS, 1],
    ['MAX_EVENT_STREAMS', '1', (c) => c.MAX_EVENT_STREAMS, 1],
    ['MAX_LIVE_SCANS_PER_ORGANISATION', '7', (c) => c.maxLiveScansPerOrganisation, 7],
    ['OTEL_EXPORTER_OTLP_ENDPOINT', 'http://collector:4318', (c) => c.OTEL_EXPORTER_OTLP_ENDPOINT, 'http://collector:4318'],
    ['OTEL_EXPORTER_OTLP_HEADERS', 'a=b,c=d=', (c) => c.OTEL_EXPORTER_OTLP_HEADERS, 'a=b,c=d='],
    ['LOG_LEVEL', 'debug', (c) => c.LOG_LEVEL, 'debug'],
  ];
  for (const [name, value, read, expected] of valid)
    it(`accepts ${name}=${value}`, () => {
      const config = readApiConfiguration({ ...REQUIRED, PUBLIC_BASE_URL, [name]: value });
      expect(read({ ...config, ...settingsOf(config) })).to.deep.equal(expected);
    });

  it('sends mails only with a mail server, and then needs the public address for links', () => {
    const mail = { SMTP_URL: 'smtp://user:secret-word@mail.example.com:587', PUBLIC_BASE_URL: 'https://curbcut.example.com/' };
    const mailOf = (environment: Record<string, string>) => outboxSettingsOf(readApiConfiguration({ ...REQUIRED, ...environment })).mail;
    expect(mailOf({ PUBLIC_BASE_URL: mail.PUBLIC_BASE_URL })).to.equal(null);
    const { smtpUrl, ...rest } = mailOf(mail)!;
    expect(currentOf(smtpUrl)).to.equal(mail.SMTP_URL);
    expect(rest).to.deep.equal({ from: 'Curbcut <no-reply@curbcut.example.com>' });
    expect(mailOf({ ...mail, PUBLIC_BASE_URL: 'http://127.0.0.1:8080' })?.from).to.equal('Curbcut <no-reply@localhost>');
    expect(mailOf({ ...mail, MAIL_FROM: 'Access Team <a11y@example.com>' })?.from).to.equal('Access Team <a11y@example.com>');
    expect(problemsOf({ ...REQUIRED, SMTP_URL: mail.SMTP_URL })).to.deep.equal([
      "PUBLIC_BASE_URL is not set; it must be the service's base address if SMTP_URL is set.",
    ]);
    const wrong = problemsOf({ ...REQUIRED, ...mail, SMTP_URL: 'https://secret-word@mail.example.com', MAIL_FROM: 'Access Team' });
    expect(wrong.map((problem) => problem.split(' ')[0])).to.have.members(['SMTP_URL', 'MAIL_FROM']);
    expect(wrong.join('\n')).not.to.include('secret-word');
  });

  it('offers public scans only if PUBLIC_SCANS is true, and needs a mail server for them', () => {
    const offered = (more: object) => settingsOf(readApiConfiguration({ ...REQUIRED, PUBLIC_BASE_URL, ...more })).publicScans;
    expect(offered({ SMTP_URL: 'smtp://mail', PUBLIC_SCANS: 'true' })).to.deep.equal({
      maxLive: 50,
      maxRunning: 2,
      perAddressAndHour: 5,
      perAddressAndDay: 20,
      perEmailAndHour: 3,
      perDomainAndHour: 100,
      perHour: 500,
      retentionDays: 30,
      turnstile: null,
    });
    expect(offered({ SMTP_URL: 'smtp://mail' }), 'a mail server opens nothing').to.equal(null);
    expect(problemsOf({ ...REQUIRED, PUBLIC_SCANS: 'true' })).to.deep.equal([
      'PUBLIC_SCANS is true, but SMTP_URL is not set; their results are sent by mail.',
    ]);
  });

  it('never allows scans all Secrets', () => {
    expect(problemsOf({ ...REQUIRED, ALLOW_SCAN_SECRETS: '*,a' })).to.deep.equal([
      'ALLOW_SCAN_SECRETS holds "*"; each item must be NAME, NAME*, ORGANISATION/NAME or ORGANISATION/NAME*.',
    ]);
  });

  it('needs both keys of Turnstile, or neither', () => {
    const mail = { ...REQUIRED, PUBLIC_BASE_URL, SMTP_URL: 'smtp://mail', PUBLIC_SCANS: 'true' };
    const { secretKey, ...rest } = settingsOf(readApiConfiguration({ ...mail, ...TURNSTILE })).publicScans!.turnstile!;
    expect(currentOf(secretKey)).to.equal('hush');
    expect(rest).to.deep.equal({
      siteKey: 'site',
      verifyUrl: 'https://challenges.cloudflare.com/turnstile/v0/siteverify',
    });
    for (const [name, value] of Object.entries(TURNSTILE)) {
      const problems = problemsOf({ ...mail, [name]: value });
      expect(problems).to.deep.equal(['TURNSTILE_SITE_KEY and TURNSTILE_SECRET_KEY must both be set, or neither of them.']);
    }
  });

  it('gives one organisation a quarter of the live scans by default', () => {
    expect(settingsOf(readApiConfiguration({ ...REQUIRED, MAX_LIVE_SCANS: '10' })).maxLiveScansPerOrganisation).to.equal(3);
  });

  it('needs a whole OpenID provider, and one way to sign in', () => {
    const read = readApiConfiguration({ ...REQUIRED, ...OIDC, LOCAL_PASSWORDS: 'false' });
    expect(read).to.include({ ...OIDC, LOCAL_PASSWORDS: false });
    for (const name of Object.keys(OIDC)) expect(problemsOf({ ...REQUIRED, ...OIDC, [name]: undefined }), name).to.have.lengthOf(1);
    expect(problemsOf({ ...REQUIRED, LOCAL_PASSWORDS: 'false' })).to.have.lengthOf(1);
  });

  it('needs a whole access key, or a workload identity', () => {
    const { S3_ACCESS_KEY_ID, S3_SECRET_ACCESS_KEY, ...rest } = REQUIRED;
    for (const identity of [ROLE, AGENT, { S3_ACCESS_KEY_ID, S3_SECRET_ACCESS_KEY }])
      expect(problemsOf({ ...rest, ...identity })).to.deep.equal([]);
    expect(problemsOf(rest)).to.deep.equal([
      'S3_ACCESS_KEY_ID and S3_SECRET_ACCESS_KEY are not set; set them, or for a workload identity AWS_ROLE_ARN and AWS_WEB_IDENTITY_TOKEN_FILE.',
    ]);
    expect(problemsOf({ ...rest, ...ROLE, S3_ACCESS_KEY_ID })).to.deep.equal([
      'S3_SECRET_ACCESS_KEY is not set; an access key needs S3_ACCESS_KEY_ID and S3_SECRET_ACCESS_KEY.',
    ]);
    expect(problemsOf({ ...rest, AWS_ROLE_ARN: ROLE.AWS_ROLE_ARN })).to.deep.equal([
      'AWS_WEB_IDENTITY_TOKEN_FILE is not set; a workload identity needs AWS_ROLE_ARN and AWS_WEB_IDENTITY_TOKEN_FILE.',
    ]);
  });

  it('is tested for every variable', () => {
    const tested = [...valid.map(([name]) => name), ...Object.keys({ ...TURNSTILE, ...OIDC, ...ROLE, ...AGENT }), 'LOCAL_PASSWORDS'];
    expect(tested).to.have.members(Object.keys(Environment.properties));
  });

  for (const [name, value] of [
    ['PORT', '65536'],
    ['PORT', 'http'],
    ['PUBLIC_BASE_URL', 'curbcut.example.com'],
    ['SMTP_URL', 'https://mail'],
    ['ALLOW_PREPARE_STEPS', 'no'],
    ['WEBHOOKS', 'off'],
    ['DASHBOARD', 'off'],
    ['MAIL_FROM', 'Curbcut'],
    ['CURBCUT_NAMESPACE', 'Not_A_Name'],
    ['CURBCUT_CLASS', 'Not_A_Name'],
    ['MONGODB_URL', 'postgres://db'],
    ['MONGODB_URL', 'mongodb://db/?readPreference=nearest'],
    ['NATS_URL', 'http://nats'],
    ['PRIVATE_CA', '/etc/ca.pem'],
    ['HTTPS_PROXY', 'https://proxy.example:3128'],
    ['S3_ENDPOINT', 's3.example.com'],
    ['AWS_ENDPOINT_URL_STS', 'sts.example.com'],
    ['S3_SESSION_SECONDS', '60'],
    ['S3_PUBLIC_ENDPOINT', 'ftp://x'],
    ['ALLOW_TARGETS', '10.0.0.0/33'],
    ['ALLOW_TARGETS', 'http://intranet/'],
    ['DENY_TARGETS', 'example.com'],
    ['MAX_PAGES_LIMIT', '0'],
    ['MAX_LIVE_SCANS', 'many'],
    ['MAX_LIVE_SCANS_PER_ORGANISATION', '0'],
    ['TRUSTED_PROXIES', '10.0.0.0/33'],
    ['TRUSTED_PROXIES', 'proxy.example.com'],
    ['PUBLIC_SCANS', 'perhaps'],
    ['MAX_LIVE_PUBLIC_SCANS', '0'],
    ['TURNSTILE_VERIFY_URL', 'verifier'],
    ['LOG_LEVEL', 'loud'],
  ] as const)
    it(`rejects ${name}=${value} and describes valid values`, () => {
      const problems = problemsOf({ ...REQUIRED, PUBLIC_BASE_URL, [name]: value });
      expect(problems).to.have.lengthOf(1);
      expect(problems[0]).to.match(new RegExp(`^${name} .*must be .+\\.$`));
    });

  it('reports every problem at once without secrets', () => {
    const problems = problemsOf({ PORT: 'x', MONGODB_URL: 'oops://user:hush@db', DENY_TARGETS: 'a,b', S3_SECRET_ACCESS_KEY: 'hush' });
    expect(problems).to.have.lengthOf(7);
    expect(problems.join()).to.not.include('hush');
  });
});
