import { expect } from 'chai';
import type { AccessibilityScan } from '../../core/protocol/custom-resources.ts';
import { NOW, ago, condition, scanWith } from '../../test/support/scan-samples.ts';
import { namespacesReadable, scansInReach } from './waiting.ts';

const scan = (name: string, namespace: string, admitted: 'True' | 'False'): AccessibilityScan =>
  scanWith({ phase: 'queued', conditions: [condition('Admitted', admitted, 'Any')] }, { metadata: { name, namespace, uid: name } });
const names = (scans: readonly AccessibilityScan[]) => scans.map(({ metadata }) => metadata.name);
const problem = (seconds: number) => ({ since: new Date(ago(seconds)), resource: 'jobs', message: 'forbidden' });

describe('scans out of reach', () => {
  const scans = [scan('waits', 'team', 'False'), scan('runs', 'team', 'True'), scan('other', 'api', 'False')];

  it('takes part in admission while its namespace is readable', () => {
    expect(names(scansInReach(scans, new Map(), NOW))).to.deep.equal(['waits', 'runs', 'other']);
  });

  it('keeps the place of an admitted scan for five minutes, and no longer', () => {
    expect(names(scansInReach(scans, new Map([['team', problem(299)]]), NOW))).to.deep.equal(['runs', 'other']);
    expect(names(scansInReach(scans, new Map([['team', problem(301)]]), NOW))).to.deep.equal(['other']);
  });

  it('covers every namespace if no namespace can be read', () => {
    expect(names(scansInReach(scans, new Map([['', problem(301)]]), NOW))).to.deep.equal([]);
  });

  it('is a condition of the ScanQueue that names the namespaces', () => {
    expect(namespacesReadable(new Map())).to.include({ type: 'NamespacesReadable', status: 'True' });
    const many = new Map(['a', 'b', 'c', 'd', 'e', 'f', 'g'].map((name) => [name, problem(1)]));
    const { status, message } = namespacesReadable(many);
    expect(status).to.equal('False');
    expect(message).to.match(/cannot list jobs in namespace a \(forbidden\).*namespace e .*, and 2 more\.$/);
  });
});
