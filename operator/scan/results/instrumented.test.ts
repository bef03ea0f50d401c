import { expect } from 'chai';
import { storedBy } from '../../../test/support/scan-samples.ts';
import { createFakeClock } from '../../../test/support/fake-clock.ts';
import { instrumentIngestion, ResultUnwanted } from './ingest.ts';

describe('the measurement of ingestions', () => {
  it('counts a failure as an error, but not the cancellation of the scan', async () => {
    const results: string[] = [];
    const errors = [new Error('connect ECONNREFUSED'), new ResultUnwanted()];
    const { ingest } = instrumentIngestion(
      {
        async ingest() {
          throw errors.shift()!;
        },
      },
      { ingested: (result) => void results.push(result) },
      createFakeClock(),
    );
    for (const name of ['Error', 'ResultUnwanted']) {
      const error: unknown = await ingest(storedBy(0), { attempt: 0, shard: 0 }, {} as never).catch((thrown: unknown) => thrown);
      expect(error).to.have.property('name', name);
    }
    expect(results).to.deep.equal(['error']);
  });
});
