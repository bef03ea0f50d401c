import { expect } from 'chai';
import { viewOf } from '../../report/view/view.ts';
import { smallReport } from '../report/samples.ts';
import { parseView } from '../../stores/s3-ranges.ts';

const bytesOf = (value: unknown): Uint8Array => Buffer.from(JSON.stringify(value));

describe('parseView', () => {
  it('reads a view', () => {
    const view = viewOf(smallReport());
    expect(parseView(bytesOf(view))).to.deep.equal(JSON.parse(JSON.stringify(view)));
  });

  it('returns null for anything else', () => {
    expect(parseView(bytesOf({ ...viewOf(smallReport()), view_version: 0 }))).to.equal(null);
    expect(parseView(Buffer.from('{'))).to.equal(null);
  });
});
