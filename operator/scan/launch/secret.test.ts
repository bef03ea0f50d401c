import { expect } from 'chai';
import { launched, SCAN_ID, scanWith } from '../../../test/support/scan-samples.ts';
import { podInput } from './launch.ts';

const inputWith = (changes: Parameters<typeof scanWith>[1]) =>
  podInput(
    {
      scan: scanWith(launched(), changes),
      scanId: SCAN_ID,
      organisation: 'acme',
      seconds: 600,
      secretName: 'scan-input',
    },
    { allowTargets: [], denyTargets: [], workers: 2, pageBudgetMs: 30_000, exportMaxBytes: 64_000_000 },
    { uploads: [], cancelMark: 'http://objects/mark', messages: null, deadline: new Date(0), uploadDeadline: new Date(0) },
  );

describe('sign-in in the pod input', () => {
  it('is what the scan states, without the name of the Secret', () => {
    const plan = { steps: [{ goto: '/login' }, { fill: { selector: '#name', secretKey: 'username' } }], marker: { text: 'Sign out' } };
    expect(inputWith({ spec: { auth: { secretRef: { name: 'login' }, ...plan } } }).signIn).to.deep.equal(plan);
    expect(inputWith({ spec: { auth: { secretRef: { name: 'login' } } } }).signIn).to.deep.equal({});
    expect(inputWith({})).not.to.have.property('signIn');
  });
});

describe('request ID in the pod input', () => {
  const inputOf = (annotations: Record<string, string>) => inputWith({ metadata: { annotations } });

  it('is the ID of the submission', () => {
    expect(inputOf({ 'curbcut.dev/request-id': 'build-17' }).requestId).to.equal('build-17');
  });

  it('is absent if the annotation is invalid or missing', () => {
    expect(inputOf({ 'curbcut.dev/request-id': 'a\n{"level":60}' })).not.to.have.property('requestId');
    expect(inputOf({})).not.to.have.property('requestId');
  });
});
