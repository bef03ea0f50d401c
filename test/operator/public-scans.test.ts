/** Scans of the anonymous organisation: they need no credits, have places of their own, and their tokens expire. */
import { expect } from 'chai';
import { ANONYMOUS } from '../../core/organisation.ts';
import { createOperatorMetrics } from '../../operator/metrics.ts';
import { bytesOf, pagesOf, reportOf } from '../support/scan-results.ts';
import { useContext, statusOf, until, type Scan } from './context.ts';

describe('operator: public scans', function () {
  this.timeout(240_000);
  const context = useContext(beforeEach, afterEach);
  beforeEach(() => context.grant(1000));

  const submit = () => context.submit({ queue: 'public', maxPages: 1 }, 1, ANONYMOUS);
  const admitted = (scan: Scan) => scan.reaches('admitted', (read) => statusOf(read, 'Admitted') === 'True');
  const balance = () => context.stores.credits.balance(ANONYMOUS);
  const uncharged = async ({ registry }: ReturnType<typeof createOperatorMetrics>) =>
    Number(/scans_uncharged_total (\d+)/.exec(await registry.metrics())![1]);

  /** Stores a token as the API does. */
  const token = (scan: Scan, expiresAt: Date, createdAt = new Date()) =>
    context.stores.publicScans.claim(
      {
        token: `token-${scan.id}`,
        scanId: scan.id,
        url: 'https://example.com/',
        email: `${scan.id}@example.com`,
        locale: 'en',
        createdAt,
        expiresAt,
      },
      '192.0.2.1',
    );

  it('run to their end without a grant, and are counted as spent without a ledger', async () => {
    const metrics = createOperatorMetrics();
    context.start({}, { metrics });
    const scan = await submit();
    await admitted(scan);
    expect(await balance()).to.deep.equal({ balance: 0, granted: 1, held: 1, spent: 0 });
    const pod = await scan.pod();
    const input = await scan.input();
    const report = bytesOf(reportOf(input, pagesOf(input.options.url).slice(0, 1)));
    await scan.publish(await scan.upload(pod, report, undefined, { scanned: 1, failed: 0, total: 1 }));
    const ended = await scan.settles();
    expect(ended.status, ended.status?.message).to.deep.include({ phase: 'done', organisation: ANONYMOUS });
    expect(await scan.row()).to.deep.include({ phase: 'done', organisation: ANONYMOUS, queue: 'public', submission: 'accepted' });
    expect(await balance()).to.deep.equal({ balance: 0, granted: 1, held: 0, spent: 1 });
    expect(await context.stores.credits.ledger(ANONYMOUS, { before: null, limit: 10 })).to.deep.equal([]);
    expect(await uncharged(metrics)).to.equal(0);
  });

  it('lose their token and e-mail address when it expires, or if their scan never ran', async () => {
    const scan = await submit();
    const [day, hour] = [86_400_000, 3_600_000];
    await token(scan, new Date(Date.now() + day), new Date(Date.now() - hour));
    const never = { ...scan, id: crypto.randomUUID() };
    const expired = { ...scan, id: crypto.randomUUID() };
    await token(never, new Date(Date.now() + day), new Date(Date.now() - hour));
    await token(expired, new Date(Date.now() - 1), new Date(Date.now() - hour));
    const fresh = { ...scan, id: crypto.randomUUID() };
    await token(fresh, new Date(Date.now() + day));
    context.start({ sweepEveryMs: 100 });
    await until('the sweep', async () => (await remaining()).length === 2);
    expect(await remaining()).to.have.members([`token-${scan.id}`, `token-${fresh.id}`]);
  });

  async function remaining(): Promise<string[]> {
    const tokens: string[] = [];
    for await (const one of context.stores.publicScans.unmailed()) tokens.push(one.token);
    return tokens;
  }
});
