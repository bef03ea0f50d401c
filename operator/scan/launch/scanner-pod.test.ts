import { expect } from 'chai';
import { readScannerPodTemplate } from './pod-template.ts';

const problemsOf = (template: unknown) => readScannerPodTemplate(JSON.stringify(template)).problems;

describe('the template of scanner pods', () => {
  it('has resources, unless it sets its own', () => {
    const resources = { requests: { cpu: '500m', memory: '768Mi' }, limits: { memory: '2Gi' } };
    for (const text of [undefined, '', '{}']) expect(readScannerPodTemplate(text)).to.deep.equal({ template: { resources }, problems: [] });
    expect(readScannerPodTemplate('{"resources":{"requests":{"cpu":1}}}').template).to.deep.equal({ resources: { requests: { cpu: 1 } } });
  });

  it('is rejected if it is malformed, with the place', () => {
    expect(readScannerPodTemplate('{nodeSelector').problems).to.deep.equal([
      'SCANNER_POD_TEMPLATE is not a pod template: it must be object.',
    ]);
    expect(problemsOf({ nodeselector: {} })[0]).to.match(/: nodeselector is not a known field\.$/);
    expect(problemsOf({ tolerations: {} })).to.deep.equal(['SCANNER_POD_TEMPLATE is not a pod template: tolerations must be array.']);
    expect(problemsOf({ env: [{ name: 'A', value: 1 }] })[0]).to.match(/env\.0\.value must be string/);
    expect(problemsOf({ volumeMounts: [{ name: 'ca' }] })[0]).to.match(/volumeMounts\.0 must have required properties mountPath/);
  });

  it('must not replace what the operator sets, and names every mistake', () => {
    const problems = problemsOf({
      labels: { 'app.kubernetes.io/name': 'web' },
      annotations: { 'curbcut.dev/scan-id': 'forged' },
      env: [{ name: 'SCAN_INPUT', value: '/tmp' }, { name: 'HTTPS_PROXY' }],
      volumes: [{ name: 'input', emptyDir: {} }],
      volumeMounts: [{ name: 'nowhere', mountPath: '/x' }],
      resources: { limits: { memory: 'much', cpu: -1 } },
    });
    const places = problems.map((problem) => problem.replace('SCANNER_POD_TEMPLATE: ', '').split(' ')[0]);
    expect(places).to.deep.equal([
      'labels',
      'annotations',
      'env',
      'volumes',
      'resources.limits.memory',
      'resources.limits.cpu',
      'volumeMounts',
    ]);
  });
});
