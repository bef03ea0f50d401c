/** Who may connect to whom: the chart's NetworkPolicies, Services and ports, as helm renders them without a cluster. */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import {
  CHART,
  containerOf,
  environmentOf,
  EVALUATION,
  FROM_SECRETS,
  needsHelm,
  one,
  PLAIN,
  refusalOf,
  render,
  SECRETS,
} from './rendered.ts';

describe('networks of the chart', () => {
  needsHelm();

  it('blocks scanners from clusterRanges, for clusters with public pod addresses', () => {
    const objects = render({ ...PLAIN, clusterRanges: ['100.0.0.0/16', '2a00:1::/48'] });
    const policy = JSON.stringify(one(objects, 'NetworkPolicy', 'curbcut-scanner'));
    expect(policy).to.match(/"cidr":"0\.0\.0\.0\/0","except":\[[^\]]*"100\.0\.0\.0\/16"\]/);
    expect(policy).to.contain('"cidr":"2000::/3","except":["2a00:1::/48"]');
    expect(environmentOf(containerOf(objects, 'curbcut-operator'), FROM_SECRETS).DENY_TARGETS).to.equal('100.0.0.0/16,2a00:1::/48');
  });

  it('lets test keys scan the demo site of an evaluation, and what targets.test names', () => {
    const targets = (values: Parameters<typeof render>[0]) =>
      environmentOf(containerOf(render(values), 'curbcut-api'), FROM_SECRETS).TEST_TARGETS;
    expect(targets(PLAIN)).to.equal('');
    expect(targets({ ...PLAIN, 'targets.test': ['try.example'] })).to.equal('try.example');
    expect(targets(EVALUATION)).to.match(/^curbcut-demo\.[a-z0-9-]+\.svc$/);
  });

  it('lets scans over HTTP sign in with the Secrets of api.allowScanSecrets only', () => {
    const secrets = (values: Parameters<typeof render>[0]) =>
      environmentOf(containerOf(render(values), 'curbcut-api'), FROM_SECRETS).ALLOW_SCAN_SECRETS;
    expect(secrets(PLAIN)).to.equal('');
    expect(secrets({ ...PLAIN, 'api.allowScanSecrets': ['shop-login', 'acme/acme-*'] })).to.equal('shop-login,acme/acme-*');
    expect(refusalOf({ ...PLAIN, 'api.allowScanSecrets': ['*'] })).to.match(/allowScanSecrets/);
  });

  /** The egress rules of a policy after that for DNS. */
  const egress = (name: string, values: Record<string, unknown>) =>
    (one(render(values), 'NetworkPolicy', name).spec as { egress: { to?: unknown; ports: { port: number }[] }[] }).egress
      .slice(1)
      .map(({ to, ports }) => ({ to, ports: ports.map(({ port }) => port) }));
  const namespace = (name: string) => ({ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': name } } });

  for (const [url, to, ports] of [
    ['mongodb://user:p%40w@mongo-0.mongo.data.svc.cluster.local,mongo-1.mongo.data.svc.cluster.local:27018/x?replicaSet=rs0', [namespace('data')], [27017, 27018]], // prettier-ignore
    ['mongodb://mongodb:27017/x', [namespace('prod')], [27017]],
    ['mongodb://10.1.2.3,10.1.2.4:27018', [{ ipBlock: { cidr: '10.1.2.3/32' } }, { ipBlock: { cidr: '10.1.2.4/32' } }], [27017, 27018]],
    ['mongodb://[fd00::1]:27017/x', [{ ipBlock: { cidr: 'fd00::1/128' } }], [27017]],
  ] as const)
    it(`opens egress to ${url} only`, () => {
      const rules = egress('curbcut-api', { ...PLAIN, 'mongodb.url': url });
      expect(rules[1]).to.deep.equal({ to, ports });
    });

  it('rejects addresses whose network it cannot derive, and names them and the value to set', () => {
    const { 'networkPolicy.s3.to': _s3, ...plain } = PLAIN;
    expect(refusalOf(plain)).to.match(/networkPolicy\.s3\.to is not set: .* s3\.example\.com\./);
    const { 'networkPolicy.mongodb.to': _mongodb, ...secrets } = SECRETS;
    expect(refusalOf(secrets)).to.match(/networkPolicy\.mongodb\.to is not set: .* an address in a Secret\./);
    for (const url of ['mongodb+srv://cluster0.example.net/x', 'mongodb://mongodb.data:27017/x', 'mongodb://a.data.svc,db.example.com'])
      expect(refusalOf({ ...PLAIN, 'mongodb.url': url }), url).to.include('networkPolicy.mongodb.to is not set');
    expect(refusalOf({ ...PLAIN, 'tracing.endpoint': 'https://otel.example.com' })).to.include('networkPolicy.tracing.to is not set');
    expect(render({ ...plain, 'networkPolicy.enabled': false }).filter(({ kind }) => kind === 'NetworkPolicy')).to.deep.equal([]);
  });

  it('allows DNS in kube-system by default, without asking a cluster, or where the values say', () => {
    const dns = (values: Record<string, unknown>) =>
      ['curbcut-api', 'curbcut-operator', 'curbcut-scanner'].map(
        (name) => (one(render({ ...PLAIN, ...values }), 'NetworkPolicy', name).spec as { egress: unknown[] }).egress[0],
      );
    const rule = (to: unknown, port: number) => ({ to, ports: ['UDP', 'TCP'].map((protocol) => ({ protocol, port })) });
    const linkLocal = ['169.254.20.10/32', '169.254.169.254/32'].map((cidr) => ({ ipBlock: { cidr } }));
    const same = (expected: unknown) => [expected, expected, expected];
    expect(dns({})).to.deep.equal(same(rule([namespace('kube-system'), ...linkLocal], 53)));
    const openShift = { namespace: 'openshift-dns', podLabels: { 'dns.operator.openshift.io/daemonset-dns': 'default' }, ports: [5353] };
    const pods = { ...namespace('openshift-dns'), podSelector: { matchLabels: openShift.podLabels } };
    expect(dns({ 'networkPolicy.dns': openShift })).to.deep.equal(same(rule([pods, ...linkLocal], 5353)));
    const own = [{ ipBlock: { cidr: '10.0.0.10/32' } }];
    expect(dns({ 'networkPolicy.dns.to': own })).to.deep.equal(same(rule(own, 53)));
  });

  it('looks up nothing in a cluster, because Argo CD renders without one', () => {
    for (const path of globSync('templates/**', { cwd: CHART, withFileTypes: true }).filter((entry) => entry.isFile()))
      expect(readFileSync(join(path.parentPath, path.name), 'utf8'), path.name).to.not.match(/\blookup\s+"/);
  });

  describe('second port of API and operator', () => {
    interface Spec {
      ports: { name: string; port: number; targetPort: string }[];
      selector: Record<string, string>;
    }
    const MONITORED = { ...PLAIN, 'metrics.serviceMonitor.enabled': true };

    it('serves probes and metrics, and no Service but those for Prometheus has it', () => {
      const objects = render(MONITORED);
      for (const process of ['api', 'operator']) {
        const container = containerOf(objects, `curbcut-${process}`);
        expect(container.ports).to.deep.include({ name: 'metrics', containerPort: 9090 });
        expect(environmentOf(container, FROM_SECRETS)).to.include({ METRICS_PORT: '9090' });
        const service = one(objects, 'Service', `curbcut-${process}-metrics`).spec as Spec & { clusterIP: string };
        expect(service.clusterIP).to.equal('None');
        expect(service.ports).to.deep.equal([{ name: 'metrics', port: 9090, targetPort: 'metrics' }]);
        expect(service.selector['app.kubernetes.io/component']).to.equal(process);
      }
      const open = objects.filter(({ kind, metadata }) => kind === 'Service' && !metadata.name.endsWith('-metrics'));
      expect(open.flatMap(({ spec }) => (spec as Spec).ports.map(({ targetPort }) => targetPort))).to.deep.equal(['http']);
    });

    it('is where the API starts, while its public port decides whether it lives and gets requests', () => {
      const container = containerOf(render(PLAIN), 'curbcut-api') as unknown as Record<string, { httpGet: object }>;
      expect(container.startupProbe!.httpGet).to.deep.equal({ path: '/readyz', port: 'metrics' });
      for (const probe of ['livenessProbe', 'readinessProbe'])
        expect(container[probe]!.httpGet).to.deep.equal({ path: '/healthz', port: 'http' });
    });

    it('is reached by Prometheus only, or by whom the values say', () => {
      const ingress = (name: string, values: Record<string, unknown>) =>
        (one(render({ ...PLAIN, ...values }), 'NetworkPolicy', name).spec as { ingress: { from?: unknown; ports: { port: number }[] }[] })
          .ingress ?? [];
      const prometheus = [{ namespaceSelector: {}, podSelector: { matchLabels: { 'app.kubernetes.io/name': 'prometheus' } } }];
      for (const [values, from] of [
        [{}, prometheus],
        [{ 'networkPolicy.metricsFrom': [namespace('monitoring')] }, [namespace('monitoring')]],
      ] as const)
        for (const name of ['curbcut-api', 'curbcut-operator']) {
          const metrics = ingress(name, values).filter(({ ports }) => ports.some(({ port }) => port === 9090));
          expect(metrics, name).to.deep.equal([{ from, ports: [{ protocol: 'TCP', port: 9090 }] }]);
        }
      expect(ingress('curbcut-operator', { 'networkPolicy.metricsFrom': [] })).to.deep.equal([]);
      expect(ingress('curbcut-api', { 'networkPolicy.metricsFrom': [] })).to.deep.equal([{ ports: [{ protocol: 'TCP', port: 8080 }] }]);
    });
  });

  it('lets the API send webhooks where scanners may go, and further only by webhooksTo', () => {
    const more = [{ to: [{ ipBlock: { cidr: '10.9.0.0/16' } }], ports: [{ port: 8443 }] }];
    const values = { ...PLAIN, 'targets.allow': ['10.8.0.0/16'] };
    const targets = egress('curbcut-scanner', values).slice(-2);
    expect(targets.map(({ to }) => (to as { ipBlock: { cidr: string } }[]).map(({ ipBlock }) => ipBlock.cidr))).to.deep.equal([
      ['0.0.0.0/0', '2000::/3'],
      ['10.8.0.0/16'],
    ]);
    expect(egress('curbcut-api', values).slice(-2)).to.deep.equal(targets);
    expect(JSON.stringify(egress('curbcut-operator', { ...values, 'networkPolicy.webhooksTo': more }))).to.not.match(
      /0\.0\.0\.0\/0|2000::|10\.[89]\./,
    );
    expect(egress('curbcut-api', { ...values, 'networkPolicy.webhooksTo': more }).at(-1)).to.deep.equal({
      to: more[0]!.to,
      ports: [8443],
    });
  });

  it('closes the public internet to the API if webhooks are off, and says so to both processes', () => {
    const more = [{ to: [{ ipBlock: { cidr: '10.9.0.0/16' } }], ports: [{ port: 8443 }] }];
    const off = { ...PLAIN, 'targets.allow': ['10.8.0.0/16'], 'networkPolicy.webhooksTo': more, 'webhooks.enabled': false };
    const blocks = egress('curbcut-api', off).flatMap(({ to }) => JSON.stringify(to ?? null));
    expect(blocks.filter((to) => /0\.0\.0\.0\/0|2000::|10\.[89]\./.test(to))).to.deep.equal([]);
    expect(
      egress('curbcut-scanner', off)
        .map(({ to }) => JSON.stringify(to))
        .join(),
    ).to.include('0.0.0.0/0');
    for (const name of ['curbcut-operator', 'curbcut-api'])
      for (const [values, on] of [
        [PLAIN, 'true'],
        [off, 'false'],
      ] as const)
        expect(environmentOf(containerOf(render(values), name), FROM_SECRETS).WEBHOOKS, name).to.equal(on);
  });

  it('derives egress rules from the configured addresses', () => {
    expect(egress('curbcut-operator', PLAIN)).to.deep.equal(egress('curbcut-api', { ...PLAIN, 'webhooks.enabled': false }));
    expect(egress('curbcut-operator', PLAIN)).to.deep.equal([
      { to: undefined, ports: [443, 6443] },
      { to: [namespace('data')], ports: [27017, 27018] },
      { to: [{ ipBlock: { cidr: '203.0.113.0/24' } }], ports: [443] },
      { to: [{ ipBlock: { cidr: '10.1.2.3/32' } }], ports: [4222] },
    ]);
    expect(egress('curbcut-scanner', SECRETS).slice(0, -1)).to.deep.equal([
      { to: [namespace('messages')], ports: [4222] },
      { to: [namespace('objects')], ports: [9000] },
    ]);
    const own = { 'networkPolicy.s3.to': [{ ipBlock: { cidr: '10.9.0.0/16' } }], 'networkPolicy.s3.ports': [9001] };
    expect(egress('curbcut-scanner', { ...SECRETS, ...own })).to.deep.include({
      to: [{ ipBlock: { cidr: '10.9.0.0/16' } }],
      ports: [9001],
    });
  });
});
