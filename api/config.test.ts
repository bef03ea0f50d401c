import { expect } from 'chai';
import { createAuthority } from '../test/support/private-authority.ts';
import { ConfigurationError } from '../platform/configuration.ts';
import { outboxSettingsOf, readApiConfiguration, settingsOf, type Configuration } from './config.ts';
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
    expect(readApiConfiguration(REQUIRED)).to.include({ HOST: '127.0.0.1', PORT: 8080, DASHBOARD: true, PUBLIC_SCANS: false });
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
    ['PORT', '0', (c) => c.PORT, 0],
    ['PRIVATE_CA', AUTHORITY, (c) => c.PRIVATE_CA, AUTHORITY],
    ['HTTPS_PROXY', 'http://user:hush@proxy.example:3128', (c) => c.HTTPS_PROXY, 'http://user:hush@proxy.example:3128'],
    ['PUBLIC_BASE_URL', 'https://curbcut.example.com/', (c) => c.publicBaseUrl, 'https://curbcut.example.com'],
    ['TRUSTED_PROXIES', '10.0.0.0/8, fd00::/8,192.0.2.1', (c) => c.trustedProxies, ['10.0.0.0/8', 'fd00::/8', '192.0.2.1']],
    ['DASHBOARD', 'false', (c) => c.DASHBOARD, false],
    ['MONGODB_URL', 'mongodb+srv://user:pass@db/', (c) => c.MONGODB_URL, 'mongodb+srv://user:pass@db/'],
    ['NATS_URL', 'tls://nats:4222', (c) => c.NATS_URL, 'tls://nats:4222'],
    ['ALLOW_TARGETS', '127.0.0.0/8, intranet.example:8080', (c) => c.targets.allow, ['127.0.0.0/8', 'intranet.example:8080']],
    ['DENY_TARGETS', '203.0.113.0/24,2001:db8::/32', (c) => c.targets.deny, ['203.0.113.0/24', '2001:db8::/32']],
    ['ALLOW_SCAN_SECRETS', 'shop-login,acme/acme-*', (c) => c.allowScanSecrets, ['shop-login', 'acme/acme-*']],
    ['TEST_TARGETS', 'demo.example,try:8080', (c) => c.testTargets, ['demo.example', 'try:8080']],
    ['MAX_LIVE_SCANS_PER_ORGANISATION', '7', (c) => c.maxLiveScansPerOrganisation, 7],
  ];
  it('derives the address in links from the address to listen on', () => {
    const derived = (HOST?: string) => settingsOf(readApiConfiguration({ ...REQUIRED, ...(HOST && { HOST }) })).publicBaseUrl;
    expect(derived()).to.equal('http://127.0.0.1:8080');
    expect(derived('::1')).to.equal('http://[::1]:8080');
    for (const any of ['::', '0.0.0.0']) expect(derived(any)).to.equal('http://localhost:8080');
  });

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

  for (const [name, value] of [
    ['PORT', '65536'],
    ['PUBLIC_BASE_URL', 'curbcut.example.com'],
    ['PUBLIC_BASE_URL', 'https://tools.example.com/curbcut'],
    ['PUBLIC_BASE_URL', 'https://curbcut.example.com?a=b'],
    ['PUBLIC_BASE_URL', 'https://curbcut.example.com#a'],
    ['PUBLIC_BASE_URL', 'https://user:pw@curbcut.example.com'],
    ['MAIL_FROM', 'Curbcut'],
    ['MONGODB_URL', 'mongodb://db/?readPreference=nearest'],
    ['NATS_URL', 'http://nats'],
    ['PRIVATE_CA', '/etc/ca.pem'],
    ['HTTPS_PROXY', 'https://proxy.example:3128'],
    ['ALLOW_TARGETS', '10.0.0.0/33'],
    ['ALLOW_TARGETS', 'http://intranet/'],
    ['TRUSTED_PROXIES', '10.0.0.0/33'],
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
