import { expect } from 'chai';
import { reportKeys } from '../schema/objects.ts';
import { createReportFormats } from './report-formats.ts';

describe('formats of reports', () => {
  it('are refused as busy if a turn does not come in time', async () => {
    const { promise, resolve } = Promise.withResolvers<{ ok: false; reason: 'missing' }>();
    const exports = [reportKeys('a').export, reportKeys('b').export];
    const formats = createReportFormats(
      {
        size: async (key) => (exports.includes(key) ? 1 : null),
        read: () => promise,
        writeFormat: async () => undefined,
        remove: async () => undefined,
      },
      1,
    );
    const first = formats.ensure({ id: 'a', organisation: 'acme' }, 'sarif');
    expect(await formats.ensure({ id: 'b', organisation: 'other' }, 'sarif')).to.deep.equal({ ok: false, reason: 'busy', limit: 'total' });
    resolve({ ok: false, reason: 'missing' });
    expect(await first).to.deep.equal({ ok: false, reason: 'not_found' });
  });
});
