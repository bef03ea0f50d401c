import { expect } from 'chai';
import { viewOf } from '../../report/view/view.ts';
import { smallReport } from '../report/samples.ts';
import { parseView } from '../../stores/report-view.ts';

const bytesOf = (value: unknown): Uint8Array => Buffer.from(JSON.stringify(value));

describe('parseView', () => {
  it('reads a view of an earlier version, which has other standards', () => {
    const view = viewOf(smallReport());
    const standards = { en_301_549: ['9.1.1.1'], section_508: ['22.a'], act_rules: ['23a2a8'] };
    const earlier = { ...view, groups: view.groups.map((group) => ({ ...group, standards })) };
    expect(parseView(bytesOf(earlier))!.groups[0]!.standards).to.deep.equal(standards);
  });

  it('returns null for anything else', () => {
    expect(parseView(bytesOf({ ...viewOf(smallReport()), view_version: 0 }))).to.equal(null);
    expect(parseView(Buffer.from('{'))).to.equal(null);
  });
});
