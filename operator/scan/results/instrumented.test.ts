import { expect } from 'chai';
import { contextOf } from '../../../test/support/operator-context.ts';
import { storedBy } from '../../../test/support/scan-samples.ts';
import { ingest, ResultUnwanted } from './ingest.ts';

describe('the measurement of ingestions', () => {
  it('counts a failure as an error, but not the cancellation of the scan', async () => {
    const results: string[] = [];
    const errors = [new Error('connect ECONNREFUSED'), new ResultUnwanted()];
    const context = contextOf({
      reports: { read: () => Promise.reject(errors[0]!) },
      metrics: { ingested: (result) => void results.push(result) },
    });
    const { signal } = new AbortController();
    const task = { stored: storedBy(0), slot: { attempt: 0, shard: 0 }, expected: {} as never, isWanted: () => false };
    for (const name of ['Error', 'ResultUnwanted']) {
      const error: unknown = await ingest(context, task, signal).catch((thrown: unknown) => thrown);
      expect(error).to.have.property('name', name);
      errors.shift();
    }
    expect(results).to.deep.equal(['error']);
  });
});
