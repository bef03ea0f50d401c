import { expect } from 'chai';
import { POD_TEMPLATE_FIELDS, judgePodTemplate, type PodTemplateRules } from './pod-template.ts';

const DEFAULT: PodTemplateRules = { allow: ['resources'], maxResources: { cpu: '4', memory: '8Gi' } };
const EVERYTHING: PodTemplateRules = { ...DEFAULT, allow: POD_TEMPLATE_FIELDS };
type Template = Parameters<typeof judgePodTemplate>[0];
const messageOf = (template: Template, rules = DEFAULT): string | null => {
  const judged = judgePodTemplate(template, rules);
  return judged.ok ? null : judged.message;
};

describe('the podTemplate of a scan', () => {
  it('may set cpu and memory within bounds by default', () => {
    for (const template of [
      undefined,
      {},
      { resources: { requests: { cpu: '4', memory: '8192Mi' }, limits: { cpu: '4000m', memory: '8Gi' } } },
      { resources: { limits: { cpu: '500m', memory: '1e9' } } },
    ])
      expect(messageOf(template), JSON.stringify(template)).to.equal(null);
  });

  const values: Required<NonNullable<Template>> = {
    resources: {},
    nodeSelector: { pool: 'gpu' },
    tolerations: [{ operator: 'Exists' }],
    affinity: { nodeAffinity: {} },
    priorityClassName: 'system-cluster-critical',
    runtimeClassName: 'runc',
    labels: { 'egress.example.com/open': 'true' },
    annotations: { 'k8s.v1.cni.cncf.io/networks': 'internal' },
  };
  for (const field of POD_TEMPLATE_FIELDS.filter((name) => name !== 'resources'))
    it(`may set ${field} only if the installation permits it`, () => {
      expect(messageOf({ [field]: values[field] })).to.equal(
        `podTemplate.${field} is not permitted; an administrator can permit it with POD_TEMPLATE_ALLOW.`,
      );
      expect(messageOf({ [field]: values[field] }, { ...DEFAULT, allow: [field] })).to.equal(null);
    });

  it('may not set a field that this operator does not know', () => {
    expect(messageOf({ hostNetwork: true } as Template, EVERYTHING)).to.match(/hostNetwork is not permitted/);
  });

  it('may not set labels and annotations by which others identify the pod or confine it', () => {
    for (const name of [
      'app.kubernetes.io/name',
      'curbcut.dev/organisation',
      'batch.kubernetes.io/job-name',
      'job-name',
      'container.apparmor.security.beta.kubernetes.io/scanner',
    ]) {
      expect(messageOf({ labels: { [name]: 'x' } }, EVERYTHING)).to.equal(
        `podTemplate.labels must not contain ${name}, which is reserved.`,
      );
      expect(messageOf({ annotations: { [name]: 'x' } }, EVERYTHING)).to.match(/reserved/);
    }
  });

  it('may not request more than its limit, also if only one of them is its own', () => {
    const rules = { ...DEFAULT, resources: { requests: { cpu: '500m', memory: '768Mi' }, limits: { memory: '2Gi' } } };
    const judged = (resources: NonNullable<Template>['resources']) => messageOf({ resources }, rules);
    expect(judged({ requests: { memory: '4Gi' } })).to.equal(
      'podTemplate.resources: the request for memory is 4Gi, more than the limit of 2Gi; set both resources.requests.memory and resources.limits.memory.',
    );
    expect(judged({ limits: { cpu: '100m' } })).to.match(/the request for cpu is 500m, more than the limit of 100m/);
    expect(judged({ requests: { memory: '4Gi' }, limits: { memory: '4Gi' } })).to.equal(null);
    expect(judged({ requests: { memory: '2Gi' } })).to.equal(null);
  });

  it('may not exceed the bounds, and the message names the setting', () => {
    const limits = (given: Record<string, string>) => messageOf({ resources: { limits: given } });
    expect(limits({ memory: '9Gi' })).to.equal(
      'podTemplate.resources.limits.memory is 9Gi, more than the 8Gi that POD_TEMPLATE_MAX_MEMORY allows.',
    );
    expect(messageOf({ resources: { requests: { cpu: '4001m' } } })).to.match(
      /requests\.cpu is 4001m, more than the 4 that POD_TEMPLATE_MAX_CPU/,
    );
    expect(limits({ 'nvidia.com/gpu': '1' })).to.match(/only cpu and memory/);
    expect(limits({ memory: '-1' })).to.match(/not a quantity/);
    expect(limits({ memory: 'much' })).to.match(/not a quantity/);
  });

  it('may not lift the limits with 0, which Kubernetes reads as no limit', () => {
    for (const memory of ['0', '0Gi', '0.0', '0e3'])
      expect(messageOf({ resources: { requests: { memory: '0' }, limits: { memory } } })).to.equal(
        `podTemplate.resources.limits.memory is ${memory}, which Kubernetes reads as no limit.`,
      );
    expect(messageOf({ resources: { requests: { cpu: '0' } } })).to.equal(null);
  });
});
