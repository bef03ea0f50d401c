import { expect } from 'chai';
import { ConfigurationError } from '../platform/configuration.ts';
import { readOperatorConfiguration, settingsOf } from './config.ts';
import { DEFAULT_NAMESPACE } from '../core/protocol/custom-resources.ts';

const least = {
  MONGODB_URL: 'mongodb://localhost/curbcut',
  S3_ENDPOINT: 'http://localhost:9000',
  S3_BUCKET: 'curbcut',
  S3_ACCESS_KEY_ID: 'id',
  S3_SECRET_ACCESS_KEY: 'secret-key',
  SCANNER_IMAGE: 'scanner:1',
};

function problemsOf(environment: Record<string, string>): readonly string[] {
  try {
    readOperatorConfiguration(environment);
    return [];
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    return error.problems;
  }
}

describe('operator configuration', () => {
  it('requires only the addresses of its dependencies', () => {
    const settings = settingsOf(readOperatorConfiguration(least));
    expect(settings).to.deep.include({
      namespace: DEFAULT_NAMESPACE,
      watchNamespaces: [],
      maxRunning: 10,
      maxPagesLimit: 500,
      retentionDays: 90,
    });
    expect(settings.scanner).to.deep.include({
      image: 'scanner:1',
      hostUsers: false,
      pod: { resources: { requests: { cpu: '500m', memory: '768Mi' }, limits: { memory: '2Gi' } } },
    });
  });

  it("accepts a seccomp profile in the kubelet's profile folder", () => {
    const walls = { SCANNER_SECCOMP_PROFILE: 'profiles/curbcut-scanner.json' };
    expect(settingsOf(readOperatorConfiguration({ ...least, ...walls })).scanner.seccompProfile).to.equal(walls.SCANNER_SECCOMP_PROFILE);
    const problems = problemsOf({ ...least, SCANNER_SECCOMP_PROFILE: '/etc/profile.json' });
    expect(problems.map((problem) => problem.split(' ')[0])).to.deep.equal(['SCANNER_SECCOMP_PROFILE']);
  });

  it('permits scans to set resources of their pods only, unless configured', () => {
    const settings = settingsOf(readOperatorConfiguration(least));
    const { resources } = settings.scanner.pod;
    expect(resources).to.not.equal(undefined);
    expect(settings.podTemplate).to.deep.equal({ allow: ['resources'], maxResources: { cpu: '4', memory: '8Gi' }, resources });
    const more = { POD_TEMPLATE_ALLOW: 'resources, nodeSelector', POD_TEMPLATE_MAX_MEMORY: '16Gi' };
    expect(settingsOf(readOperatorConfiguration({ ...least, ...more })).podTemplate).to.deep.equal({
      allow: ['resources', 'nodeSelector'],
      maxResources: { cpu: '4', memory: '16Gi' },
      resources,
    });
    expect(problemsOf({ ...least, POD_TEMPLATE_ALLOW: 'volumes' })).to.have.length(1);
  });

  it('always watches its own namespace', () => {
    const settings = settingsOf(readOperatorConfiguration({ ...least, WATCH_NAMESPACES: 'web, shop' }));
    expect(settings.watchNamespaces).to.deep.equal([DEFAULT_NAMESPACE, 'web', 'shop']);
  });

  it('accepts no more pages than the custom resource does', () => {
    expect(settingsOf(readOperatorConfiguration({ ...least, MAX_PAGES_LIMIT: '5000' })).maxPagesLimit).to.equal(5000);
    expect(problemsOf({ ...least, MAX_PAGES_LIMIT: '5001' })).to.deep.equal([
      'MAX_PAGES_LIMIT is "5001"; it must be the maximum number of pages of one scan, from 1 to 5000.',
    ]);
  });

  it('reports all problems at once and prints no secret', () => {
    const problems = problemsOf({
      ...least,
      SCANNER_IMAGE: '',
      REPORT_RETENTION_DAYS: '6',
      SCANNER_POD_TEMPLATE: '{"resources":{"limits":{"memory":"much"}}}',
      NATS_SIGNING_SEED: 'SUsecret',
      DENY_TARGETS: '10.0.0.0/99',
    });
    expect(problems).to.have.length(5);
    expect(problems.join('\n'))
      .to.match(/SCANNER_IMAGE is not set/)
      .and.match(/REPORT_RETENTION_DAYS is "6"; it must be .* from 7/);
    expect(problems.join('\n')).not.to.match(/SUsecret/);
  });
});
