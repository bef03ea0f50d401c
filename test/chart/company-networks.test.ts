/** Private authorities, the outbound proxy, workload identities and rotated credentials in the chart. */
import { expect } from 'chai';
import { readApiConfiguration } from '../../api/config.ts';
import { readOperatorConfiguration } from '../../operator/config.ts';
import { createAuthority } from '../support/private-authority.ts';
import {
  containerOf,
  environmentOf,
  FROM_SECRETS,
  needsHelm,
  one,
  PLAIN,
  podsOf,
  refusal,
  render,
  settingSources,
  SECRETS,
  type Rendered,
} from './rendered.ts';

const PROXY = 'http://user:hush@10.3.3.3:3128';
const AUTHORITIES = {
  'privateCA.services.configMap': 'company-ca',
  'privateCA.sites.secret': 'site-ca',
  'privateCA.sites.key': 'bundle.pem',
};
const ROLE = {
  's3.workloadIdentity.roleArn': 'arn:aws:iam::123456789012:role/curbcut',
  'networkPolicy.sts.to': [{ ipBlock: { cidr: '203.0.113.9/32' } }],
};
const { 's3.accessKeyId': _id, 's3.secretAccessKey': _key, ...KEYLESS } = PLAIN;
const BUNDLE = createAuthority('Acme').bundle.trim();
const VALUES = {
  ...FROM_SECRETS,
  PRIVATE_CA: BUNDLE,
  SITE_CA: BUNDLE,
  HTTPS_PROXY: PROXY,
  SCANNER_HTTPS_PROXY: PROXY,
  SMTP_URL: 'smtp://mail.example',
};

const egressOf = (objects: readonly Rendered[], name: string): string =>
  JSON.stringify((one(objects, 'NetworkPolicy', name).spec as { egress: unknown }).egress);
const read = (objects: readonly Rendered[], values: Record<string, string> = VALUES) => ({
  api: readApiConfiguration(environmentOf(containerOf(objects, 'curbcut-api'), values)),
  operator: readOperatorConfiguration(environmentOf(containerOf(objects, 'curbcut-operator'), values)),
});

describe('company networks in the chart', () => {
  needsHelm();

  it('mount every credential as a file, and none in the environment', () => {
    for (const values of [PLAIN, SECRETS, { 'evaluation.enabled': true }]) {
      const objects = render(values);
      for (const process of ['curbcut-api', 'curbcut-operator']) {
        const { env, volumeMounts } = containerOf(objects, process);
        expect(
          env!.filter(({ valueFrom }) => valueFrom !== undefined),
          process,
        ).to.deep.equal([]);
        expect(volumeMounts).to.deep.include({ name: 'settings', mountPath: '/run/curbcut', readOnly: true });
        for (const name of Object.keys(settingSources(objects, process)))
          expect(env).to.deep.include({ name: `${name}_FILE`, value: `/run/curbcut/${name}` });
      }
    }
  });

  it('give private authorities of services to both processes, and those of sites to the operator, for scanner pods', () => {
    const objects = render({ ...PLAIN, ...AUTHORITIES });
    expect(settingSources(objects, 'curbcut-api'))
      .to.include({ PRIVATE_CA: 'configMap/company-ca ca.crt' })
      .and.not.have.property('SITE_CA');
    expect(settingSources(objects, 'curbcut-operator')).to.include({
      PRIVATE_CA: 'configMap/company-ca ca.crt',
      SITE_CA: 'secret/site-ca bundle.pem',
    });
    const { api, operator } = read(objects);
    expect([api.PRIVATE_CA, operator.PRIVATE_CA, operator.SITE_CA]).to.deep.equal([BUNDLE, BUNDLE, BUNDLE]);
    expect(
      refusal('template', 'x', 'helm', '--set', 'evaluation.enabled=true,privateCA.sites.secret=a,privateCA.sites.configMap=b'),
    ).to.include('privateCA.sites.configMap and privateCA.sites.secret are both set');
  });

  it('open the network to the proxy instead of other networks', () => {
    const objects = render({
      ...PLAIN,
      'networkPolicy.s3.to': [],
      'outboundProxy.url': PROXY,
      'smtp.url': 'smtp://mail.example.com:587',
      'targets.allow': ['10.9.0.0/16'],
    });
    for (const name of ['curbcut-api', 'curbcut-operator', 'curbcut-scanner']) {
      expect(egressOf(objects, name), name).to.include('"cidr":"10.3.3.3/32"').and.include('3128');
      expect(egressOf(objects, name), name).to.not.include('0.0.0.0/0').and.not.include('2000::/3');
    }
    for (const name of ['curbcut-api', 'curbcut-scanner']) expect(egressOf(objects, name), name).to.include('10.9.0.0/16');
    const { api, operator } = read(objects);
    expect([api.HTTPS_PROXY, operator.HTTPS_PROXY, operator.SCANNER_HTTPS_PROXY]).to.deep.equal([PROXY, PROXY, PROXY]);
    expect([api.NO_PROXY, operator.SCANNER_NO_PROXY]).to.deep.equal(Array(2).fill('.svc,.cluster.local,localhost,127.0.0.1,[::1]'));
    const others = objects.filter(({ kind }) => kind !== 'Secret');
    expect(JSON.stringify(others)).to.not.include('hush');
  });

  it('open the network to what does not leave through the proxy, or fail', () => {
    const to = [{ ipBlock: { cidr: '203.0.113.7/32' } }];
    const proxied = { ...PLAIN, 'networkPolicy.s3.to': [], 'outboundProxy.url': PROXY };
    for (const noProxy of ['.example.com', 's3.example.com:443', '*'])
      expect(() => render({ ...proxied, 'outboundProxy.noProxy': [noProxy] }), noProxy).to.throw('networkPolicy.s3.to is not set');
    expect(() => render({ ...proxied, 'outboundProxy.noProxy': ['s3.example.com:80', 'example.com'] })).to.not.throw();
    const objects = render({ ...proxied, 'outboundProxy.noProxy': ['.example.com'], 'networkPolicy.s3.to': to });
    for (const name of ['curbcut-api', 'curbcut-scanner']) expect(egressOf(objects, name), name).to.include('203.0.113.7/32');
    expect(() => render({ ...proxied, 'smtp.existingSecret.name': 'mail' })).to.throw('networkPolicy.smtp.to is not set');
    const messages = { ...proxied, 'nats.podUrl': 'nats://messages.example.com' };
    expect(() => render(messages)).to.throw('networkPolicy.nats.to is not set');
    expect(() => render({ ...messages, 'outboundProxy.scanners': false })).to.not.throw();
  });

  it('reach the cluster, this machine and names without a dot directly, whatever noProxy adds', () => {
    const values = { ...PLAIN, 'outboundProxy.url': PROXY, 'outboundProxy.noProxy': ['.intranet'], 's3.podEndpoint': 'http://minio:9000' };
    const { api, operator } = read(render(values));
    expect(api.NO_PROXY).to.equal('.svc,.cluster.local,localhost,127.0.0.1,[::1],minio,.intranet');
    expect(operator.SCANNER_NO_PROXY).to.equal(api.NO_PROXY);
    for (const bad of ['10.0.0.0/8', 'x.y:99999']) expect(() => render({ ...values, 'outboundProxy.noProxy': [bad] }), bad).to.throw('noProxy'); // prettier-ignore
    for (const bad of ['http://a:b#c@p:1', 'http://p:99999', 'https://p'])
      expect(() => render({ ...values, 'outboundProxy.url': bad }), bad).to.throw('outboundProxy');
    for (const good of ['http://a:b%23c@[fd00::1]:1/'])
      expect(() => render({ ...values, 'outboundProxy.url': good, 'networkPolicy.proxy.to': [{ ipBlock: { cidr: '10.0.0.1/32' } }] }), good).to.not.throw(); // prettier-ignore
    expect(() => render({ ...values, 'smtp.url': 'smtp://a:b#c@mail' })).to.throw('smtp');
  });

  it('give scanners an account of their own at the proxy, which scans in namespaces of others need', () => {
    const shared = { ...PLAIN, 'outboundProxy.url': PROXY, 'scans.extraNamespaces': ['team-a'] };
    expect(() => render(shared)).to.throw('outboundProxy.scannerExistingSecret.name (or outboundProxy.scannerUrl) is not set');
    expect(() => render({ ...shared, 'outboundProxy.scanners': false })).to.not.throw();
    expect(() => render({ ...shared, 'outboundProxy.url': 'http://10.3.3.3:3128' })).to.not.throw();
    const ofSecret = settingSources(render({ ...shared, 'outboundProxy.scannerExistingSecret.name': 'scans', 'networkPolicy.proxy.to': [{ ipBlock: { cidr: '10.3.3.3/32' } }] }), 'curbcut-operator'); // prettier-ignore
    expect(ofSecret).to.include({ HTTPS_PROXY: 'secret/curbcut-connections proxy-url', SCANNER_HTTPS_PROXY: 'secret/scans url' });
    const plain = render({ ...shared, 'scans.extraNamespaces': [], 'outboundProxy.scannerUrl': 'http://scans:hush@10.3.3.4:3128' });
    expect(settingSources(plain, 'curbcut-operator')).to.include({ SCANNER_HTTPS_PROXY: 'secret/curbcut-connections scanner-proxy-url' });
    expect(egressOf(plain, 'curbcut-scanner')).to.include('10.3.3.4/32').and.not.include('10.3.3.3/32');
    expect(settingSources(plain, 'curbcut-api')).to.not.have.property('SCANNER_HTTPS_PROXY');
  });

  it('leave the scanners or the services out of the proxy', () => {
    const scannersOnly = render({ ...PLAIN, 'outboundProxy.url': PROXY, 'outboundProxy.services': false });
    expect(egressOf(scannersOnly, 'curbcut-api')).to.include('0.0.0.0/0').and.not.include('10.3.3.3/32');
    expect(egressOf(scannersOnly, 'curbcut-scanner')).to.not.include('0.0.0.0/0');
    const servicesOnly = render({ ...PLAIN, 'outboundProxy.url': PROXY, 'outboundProxy.scanners': false });
    expect(egressOf(servicesOnly, 'curbcut-scanner')).to.include('0.0.0.0/0').and.not.include('10.3.3.3/32');
  });

  it('use the agent of EKS Pod Identity, which sets the variables itself', () => {
    const objects = render({ ...KEYLESS, 's3.workloadIdentity.podIdentity': true });
    expect(egressOf(objects, 'curbcut-api')).to.include('169.254.170.23/32').and.include('fd00:ec2::23/128');
    expect(containerOf(objects, 'curbcut-api').env!.map(({ name }) => name)).to.not.include('AWS_ROLE_ARN');
  });

  it('replace the access key by a role, with a token that only the token service accepts', () => {
    const objects = render({ ...KEYLESS, ...ROLE });
    const { api } = read(objects, { MONGODB_URL: FROM_SECRETS.MONGODB_URL, NATS_SIGNING_SEED: FROM_SECRETS.NATS_SIGNING_SEED });
    expect(api).to.include({
      AWS_ROLE_ARN: ROLE['s3.workloadIdentity.roleArn'],
      AWS_WEB_IDENTITY_TOKEN_FILE: '/run/identity/token',
      S3_SESSION_SECONDS: 3600,
    });
    for (const process of ['curbcut-api', 'curbcut-operator']) {
      expect(settingSources(objects, process)).to.not.include.keys('S3_ACCESS_KEY_ID', 'S3_SECRET_ACCESS_KEY');
      expect(containerOf(objects, process).volumeMounts).to.deep.include({ name: 'identity', mountPath: '/run/identity', readOnly: true });
      const volume = podsOf(objects)
        .get(process)!
        .volumes!.find(({ name }) => name === 'identity');
      expect(volume).to.have.deep.nested.property('projected.sources[0].serviceAccountToken', {
        path: 'token',
        audience: 'sts.amazonaws.com',
        expirationSeconds: 3600,
      });
      expect(egressOf(objects, process)).to.include('203.0.113.9/32');
    }
    expect(Object.keys((one(objects, 'Secret', 'curbcut-connections') as unknown as { data: object }).data)).to.not.include.members([
      's3-access-key-id',
    ]);
    const { 'networkPolicy.sts.to': _to, ...withoutNetwork } = ROLE;
    expect(() => render({ ...KEYLESS, ...withoutNetwork })).to.throw('networkPolicy.sts.to is not set');
    expect(() => render({ ...PLAIN, ...ROLE })).to.throw('s3.workloadIdentity replaces the access key');
    expect(() => render(KEYLESS)).to.throw('or s3.workloadIdentity');
    expect(() => render({ ...KEYLESS, ...ROLE, 's3.workloadIdentity.podIdentity': true })).to.throw('are both set');
    expect(() => render({ ...ROLE, 'evaluation.enabled': true })).to.throw('evaluation.enabled brings its own MongoDB');
  });
});
