/** What people need of the chart: mail, sign-in, public scans and the dashboard, as helm renders them without a cluster. */
import { expect } from 'chai';
import { Environment as ApiEnvironment, readApiConfiguration, settingsOf } from '../../api/config.ts';
import { readOperatorConfiguration } from '../../operator/config.ts';
import { currentOf } from '../../platform/setting-files.ts';
import {
  containerOf,
  environmentOf,
  EVALUATION,
  FROM_SECRETS,
  needsHelm,
  one,
  PLAIN,
  refusalOf,
  render,
  type Rendered,
  settingSources,
} from './rendered.ts';

const ANY = [{ ipBlock: { cidr: '0.0.0.0/0' } }];
const MAIL = { 'smtp.url': 'smtps://user:mail-password@mail.example.com', 'networkPolicy.smtp.to': ANY };
const SIGN_IN = {
  'oidc.issuer': 'https://login.example.com/realms/acme',
  'oidc.clientId': 'curbcut',
  'oidc.existingSecret.name': 'oidc',
  'oidc.name': 'Acme',
  'oidc.emailsVerified': true,
  'oidc.roleMapping.rules': [{ value: 'CN=Leads, "A", {{ x }}', organisation: 'acme', role: 'owner' }],
  'networkPolicy.oidc.to': ANY,
};
const TURNSTILE = { 'turnstile.siteKey': '0x4AAA', 'turnstile.existingSecret.name': 'turnstile', 'networkPolicy.turnstile.to': ANY };
const PUBLIC = { 'publicScans.enabled': true };
const LEGAL = { 'api.imprintUrl': 'https://example.com/imprint', 'api.privacyUrl': 'https://example.com/privacy?a=1&b=2' };
const EVERYTHING = { ...PLAIN, ...MAIL, ...SIGN_IN, ...TURNSTILE, ...PUBLIC, ...LEGAL };
const SECRET_VALUES = {
  ...FROM_SECRETS,
  SMTP_URL: MAIL['smtp.url'],
  OIDC_CLIENT_SECRET: 'client-secret',
  TURNSTILE_SECRET_KEY: 'turnstile-secret',
};

const apiOf = (objects: readonly Rendered[]) => environmentOf(containerOf(objects, 'curbcut-api'), SECRET_VALUES);
const operatorOf = (objects: readonly Rendered[]) => environmentOf(containerOf(objects, 'curbcut-operator'), SECRET_VALUES);
/** The Secret of a variable, as "name key"; undefined if its value is in the manifest. */
const secretOf = (objects: readonly Rendered[], container: string, variable: string): string | undefined =>
  settingSources(objects, container)[variable]?.replace('secret/', '');

describe('mail, sign-in and public pages in the chart', () => {
  needsHelm();

  it('are in the environment of the processes, as they accept it', () => {
    const objects = render({
      ...EVERYTHING,
      'api.publicBaseUrl': 'https://scan.example.com',
      'api.trustedProxies': ['10.0.0.0/8', 'fd00::1'],
    });
    expect(Object.keys(ApiEnvironment.properties)).to.include.members(Object.keys(apiOf(objects)));
    expect(() => readApiConfiguration(apiOf(objects))).to.not.throw();
    expect(() => readOperatorConfiguration(operatorOf(objects))).to.not.throw();
    expect(operatorOf(objects)).to.include({ PUBLIC_BASE_URL: 'https://scan.example.com' }).and.not.have.any.keys('SMTP_URL', 'MAIL_FROM');
    expect(apiOf(objects)).to.include({
      SMTP_URL: MAIL['smtp.url'],
      PUBLIC_BASE_URL: 'https://scan.example.com',
      OIDC_ISSUER: 'https://login.example.com/realms/acme',
      OIDC_CLIENT_ID: 'curbcut',
      OIDC_NAME: 'Acme',
      OIDC_EMAILS_VERIFIED: 'true',
      OIDC_SCOPES: 'openid email profile',
      OIDC_ROLE_CLAIM: 'groups',
      OIDC_ROLE_MAPPING: JSON.stringify([{ organisation: 'acme', role: 'owner', value: 'CN=Leads, "A", {{ x }}' }]),
      TURNSTILE_SITE_KEY: '0x4AAA',
      TRUSTED_PROXIES: '10.0.0.0/8,fd00::1',
      DASHBOARD: 'true',
      IMPRINT_URL: LEGAL['api.imprintUrl'],
      PRIVACY_URL: LEGAL['api.privacyUrl'],
    });
  });

  it('are off without their values', () => {
    const names = ['IMPRINT_URL', 'PRIVACY_URL', 'SMTP_URL', 'MAIL_FROM', 'OIDC_ISSUER', 'OIDC_CLIENT_SECRET', 'TURNSTILE_SITE_KEY', 'TURNSTILE_SECRET_KEY', 'TRUSTED_PROXIES']; // prettier-ignore
    expect(apiOf(render(PLAIN))).to.not.have.any.keys(...names);
    expect(apiOf(render({ ...PLAIN, 'dashboard.enabled': false }))).to.include({ DASHBOARD: 'false' });
    expect(operatorOf(render({ ...PLAIN, 'publicScans.maxRunning': 5 }))).to.include({ MAX_RUNNING_PUBLIC_SCANS: '5' });
  });

  // ASVS 13.4: the default configuration exposes nothing that was not asked for.
  it('open public scans to the world only by name: a mail server and Turnstile alone do not', () => {
    expect(apiOf(render(PLAIN))).to.include({ PUBLIC_SCANS: 'false' });
    const off = apiOf(render({ ...EVERYTHING, 'publicScans.enabled': false }));
    expect(off).to.include({ PUBLIC_SCANS: 'false', SMTP_URL: MAIL['smtp.url'] });
    expect(settingsOf(readApiConfiguration(off)).publicScans).to.equal(null);
    expect(apiOf(render({ ...PLAIN, ...MAIL, ...PUBLIC }))).to.include({ PUBLIC_SCANS: 'true' });
    expect(apiOf(render(EVALUATION))).to.include({ PUBLIC_SCANS: 'true' });
    expect(refusalOf({ ...PLAIN, ...PUBLIC })).to.match(/publicScans\.enabled needs a mail server.*smtp\.url/s);
  });

  it('have the same limits of public scans as the processes, and set others', () => {
    const publicScansOf = (environment: Record<string, string>) => {
      const options = settingsOf(readApiConfiguration(environment)).publicScans;
      const turnstile = options?.turnstile && { ...options.turnstile, secretKey: currentOf(options.turnstile.secretKey) };
      return options && { ...options, turnstile };
    };
    const limits = (values: Record<string, unknown>) => publicScansOf(apiOf(render({ ...EVERYTHING, ...values })));
    const { MAX_RUNNING_PUBLIC_SCANS: _running, ...rest } = apiOf(render(EVERYTHING));
    const withoutLimits = Object.fromEntries(Object.entries(rest).filter(([name]) => !/^PUBLIC_SCANS?_|^MAX_LIVE_PUBLIC/.test(name)));
    expect(limits({})).to.deep.equal(publicScansOf(withoutLimits));
    const changed = {
      maxRunning: 4,
      maxLive: 60,
      perAddressAndHour: 6,
      perAddressAndDay: 30,
      perEmailAndHour: 7,
      perDomainAndHour: 50,
      perHour: 90,
      retentionDays: 9,
    };
    expect(limits(Object.fromEntries(Object.entries(changed).map(([name, value]) => [`publicScans.${name}`, value])))).to.include(changed);
    expect(limits({ 'publicScans.enabled': false })).to.equal(null);
  });

  it('keep their secrets in Secrets only', () => {
    const objects = render(EVERYTHING);
    expect(secretOf(objects, 'curbcut-api', 'SMTP_URL')).to.equal('curbcut-connections smtp-url');
    expect(secretOf(objects, 'curbcut-api', 'OIDC_CLIENT_SECRET')).to.equal('oidc client-secret');
    expect(secretOf(objects, 'curbcut-api', 'TURNSTILE_SECRET_KEY')).to.equal('turnstile secret-key');
    const others = objects.filter(({ kind, metadata }) => kind !== 'Secret' || metadata.name !== 'curbcut-connections');
    expect(JSON.stringify(others)).to.not.contain('mail-password');
    const existing = render({ ...PLAIN, 'smtp.existingSecret.name': 'smtp', 'networkPolicy.smtp.to': ANY });
    expect(secretOf(existing, 'curbcut-api', 'SMTP_URL')).to.equal('smtp url');
    expect(one(existing, 'Secret', 'curbcut-connections').data).to.not.have.property('smtp-url');
  });

  it('reject values that are missing or misspelt, and name them', () => {
    expect(refusalOf({ ...PLAIN, 'smtp.url': 'mail.example.com' })).to.match(/smtp.*url/s);
    expect(refusalOf({ ...PLAIN, ...SIGN_IN, 'oidc.clientId': '' })).to.match(/oidc\.clientId .* belong together/);
    for (const [path, refusal] of [
      ['Common/v2.0', /oidc\.issuer is for accounts of any tenant/],
      ['realms/common', null],
    ] as const) {
      const values = { ...PLAIN, ...SIGN_IN, 'oidc.issuer': `https://login.microsoftonline.com/${path}` };
      if (refusal === null) expect(() => render(values)).to.not.throw();
      else expect(refusalOf(values)).to.match(refusal);
    }
    expect(refusalOf({ ...PLAIN, 'oidc.roleMapping.rules': SIGN_IN['oidc.roleMapping.rules'] })).to.match(/oidc\.issuer is not/);
    const role = [{ value: 'a', organisation: 'acme', role: 'admin' }];
    expect(refusalOf({ ...PLAIN, ...SIGN_IN, 'oidc.roleMapping.rules': role })).to.match(/roleMapping.*role/s);
    expect(refusalOf({ ...PLAIN, 'oidc.clientSecret': 'a' })).to.match(/clientSecret/);
    expect(refusalOf({ ...PLAIN, 'api.trustedProxies': ['ingress'] })).to.match(/trustedProxies/);
    const ingress = { enabled: true, hosts: [{ host: 'scan.example.com' }] };
    expect(refusalOf({ ...PLAIN, 'api.ingress': ingress })).to.match(/api\.trustedProxies is not set: .* --set 'api\.trustedProxies=/);
    expect(() => render({ ...PLAIN, 'api.ingress': ingress, 'api.trustedProxies': ['10.244.0.0/16'] })).to.not.throw();
    expect(refusalOf({ ...EVALUATION, ...MAIL })).to.match(/brings its own .* mail server/);
  });

  describe('in the NetworkPolicies', () => {
    const egress = (name: string, values: Record<string, unknown>) =>
      (one(render(values), 'NetworkPolicy', name).spec as { egress: { to?: unknown; ports: { port: number }[] }[] }).egress.map(
        ({ to, ports }) => ({ to, ports: ports.map(({ port }) => port) }),
      );
    const added = (name: string, values: Record<string, unknown>) => {
      const before = egress(name, PLAIN).map((rule) => JSON.stringify(rule));
      return egress(name, { ...PLAIN, ...values }).filter((rule) => !before.includes(JSON.stringify(rule)));
    };

    it('let only the API reach the mail server', () => {
      expect(added('curbcut-api', MAIL)).to.deep.equal([{ to: ANY, ports: [465] }]);
      expect(added('curbcut-operator', MAIL)).to.deep.equal([]);
      const inCluster = { 'smtp.url': 'smtp://mail.mailing.svc' };
      const mailing = [{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'mailing' } } }];
      expect(added('curbcut-api', inCluster)).to.deep.equal([{ to: mailing, ports: [587] }]);
    });

    it('let only the API reach the OpenID provider and the verifier', () => {
      const login = { 'networkPolicy.oidc.to': [{ ipBlock: { cidr: '203.0.113.1/32' } }] };
      expect(added('curbcut-api', { ...SIGN_IN, ...login })).to.deep.equal([{ to: login['networkPolicy.oidc.to'], ports: [443] }]);
      expect(added('curbcut-api', TURNSTILE)).to.deep.equal([{ to: ANY, ports: [443] }]);
      expect(added('curbcut-operator', { ...SIGN_IN, ...TURNSTILE })).to.deep.equal([]);
    });

    it('ask for networks that cannot be derived from an address', () => {
      const without = (values: Record<string, unknown>, part: string) =>
        Object.fromEntries(Object.entries(values).filter(([key]) => key !== `networkPolicy.${part}.to`));
      for (const [part, values] of Object.entries({ smtp: MAIL, oidc: SIGN_IN, turnstile: TURNSTILE }))
        expect(refusalOf({ ...PLAIN, ...without(values, part) }), part).to.contain(`networkPolicy.${part}.to is not set`);
      expect(refusalOf({ ...PLAIN, 'smtp.existingSecret.name': 'smtp' })).to.contain('networkPolicy.smtp.to is not set');
    });
  });

  describe('of the evaluation', () => {
    it('send mails to its own catcher', () => {
      const objects = render(EVALUATION);
      const smtp = 'smtp://curbcut-evaluation.prod.svc:2525';
      expect(apiOf(objects)).to.include({ SMTP_URL: smtp });
      const { ports } = one(objects, 'Service', 'curbcut-evaluation').spec as { ports: { name: string; port: number }[] };
      expect(ports.map(({ name, port }) => `${name} ${port}`)).to.include.members(['smtp 2525', 'inbox 8025']);
    });

    it('keep the inbox closed to other pods, unless it has a node port', () => {
      const open = (values: Record<string, unknown>) =>
        (one(render(values), 'NetworkPolicy', 'curbcut-evaluation').spec as { ingress: { from?: object[]; ports: { port: number }[] }[] })
          .ingress;
      const of = (port: number, values = {}) =>
        open({ ...EVALUATION, ...values }).filter(({ ports }) => ports.some((one) => one.port === port));
      expect(of(8025)).to.deep.equal([]);
      expect(JSON.stringify(of(2525).map(({ from }) => from))).to.match(/"app.kubernetes.io\/component":"api"/);
      expect(of(8025, { 'evaluation.inboxNodePort': 30025 })).to.have.length(1);
      const service = one(render({ ...EVALUATION, 'evaluation.inboxNodePort': 30025 }), 'Service', 'curbcut-evaluation-inbox');
      expect((service.spec as { ports: object[] }).ports).to.deep.equal([
        { name: 'inbox', port: 8025, targetPort: 'inbox', nodePort: 30025 },
      ]);
    });
  });
});
