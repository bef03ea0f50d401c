/** The admission policy for ScanQueues. `test/cluster/admission.test.ts` runs it on an API server. */
import { expect } from 'chai';
import { needsHelm, PLAIN, render } from './rendered.ts';

const LABEL = 'curbcut.dev/scan-queues';

describe('the admission policy for ScanQueues', () => {
  needsHelm();

  const of = (kind: string, values: Readonly<Record<string, unknown>>) =>
    render({ ...PLAIN, ...values }).filter((object) => object.kind === kind);
  const expressionOf = (values: Readonly<Record<string, unknown>>): string => {
    const [policy] = of('ValidatingAdmissionPolicy', values);
    return (policy!.spec as { validations: { expression: string }[] }).validations[0]!.expression;
  };

  it('accepts the namespace of the API and those with a label', () => {
    const rule = (namespace: string) =>
      `request.namespace == '${namespace}' || (has(namespaceObject.metadata.labels) && '${LABEL}' in namespaceObject.metadata.labels)`;
    expect(expressionOf({})).to.equal(rule('prod-scans'));
    expect(expressionOf({ 'scans.namespace': 'scans' })).to.equal(rule('scans'));
  });

  it('is bound, by a name that no other release has, and can be left out', () => {
    const [binding] = of('ValidatingAdmissionPolicyBinding', {});
    expect(binding!.spec).to.deep.equal({ policyName: 'prod-curbcut-scanqueues', validationActions: ['Deny'] });
    expect(of('ValidatingAdmissionPolicy', {})[0]!.metadata.name).to.equal('prod-curbcut-scanqueues');
    expect(of('Namespace', {})[0]!.metadata.labels).to.include({ [LABEL]: 'true' });
    expect(of('ValidatingAdmissionPolicy', { 'admission.queueNamespace': false })).to.deep.equal([]);
  });
});
