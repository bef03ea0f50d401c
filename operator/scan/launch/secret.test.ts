import { expect } from 'chai';
import { launched, SCAN_ID, scanWith } from '../../../test/support/scan-samples.ts';
import { podInput } from './secret.ts';

describe('request ID in the pod input', () => {
  const inputOf = (annotations: Record<string, string>) =>
    podInput(
      {
        scan: scanWith(launched(), { metadata: { annotations } }),
        scanId: SCAN_ID,
        organisation: 'acme',
        seconds: 600,
        secretName: 'scan-input',
      },
      { allowTargets: [], denyTargets: [], workers: 2, pageBudgetMs: 30_000, exportMaxBytes: 64_000_000 },
      { uploads: [], messages: null, deadline: new Date(0), uploadDeadline: new Date(0) },
    );

  it('is the ID of the submission', () => {
    expect(inputOf({ 'curbcut.dev/request-id': 'build-17' }).requestId).to.equal('build-17');
  });

  it('is absent if the annotation is invalid or missing', () => {
    expect(inputOf({ 'curbcut.dev/request-id': 'a\n{"level":60}' })).not.to.have.property('requestId');
    expect(inputOf({})).not.to.have.property('requestId');
  });
});
