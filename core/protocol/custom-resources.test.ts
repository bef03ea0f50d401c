import { expect } from 'chai';
import { API_VERSION, REQUEST_ID_ANNOTATION, requestOf, type AccessibilityScan } from './custom-resources.ts';

describe('requestOf', () => {
  const scanWith = (id?: string): AccessibilityScan => ({
    apiVersion: API_VERSION,
    kind: 'AccessibilityScan',
    metadata: { name: 'a', annotations: { ...(id !== undefined && { [REQUEST_ID_ANNOTATION]: id }) } },
    spec: { url: 'https://example.com/' },
  });

  it('returns the request ID of the annotation', () => {
    expect(requestOf(scanWith('3f2b8c1e-6a4d-4f0e-9b7a-1c2d3e4f5a6b'))).to.equal('3f2b8c1e-6a4d-4f0e-9b7a-1c2d3e4f5a6b');
    expect(requestOf(scanWith('ci/build-17@main'))).to.equal('ci/build-17@main');
  });

  for (const id of [undefined, '', 'two lines\n{"level":60}', ' x', 'ü', 'x'.repeat(129), '"quoted"', '$(rm)'])
    it(`ignores the annotation ${JSON.stringify(id?.slice(0, 30))}`, () => {
      expect(requestOf(scanWith(id))).to.equal(undefined);
    });
});
