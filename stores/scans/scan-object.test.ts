import { expect } from 'chai';
import { scanRow } from '../../test/support/scan-rows.ts';
import { scanObject } from './scan-object.ts';

describe('the scan object', () => {
  it('has every option of a scan that an earlier version stored', () => {
    const row = scanRow({});
    const { hashRoutes: _, ...crawl } = row.options.crawl;
    const stored = { ...row, options: { ...row.options, crawl } } as typeof row;
    expect(scanObject(stored).options).to.deep.equal(scanObject(row).options);
  });
});
