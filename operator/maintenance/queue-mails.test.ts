/** Mails for members about scans that ended: whose they are. */
import { expect } from 'chai';
import type { Subscription } from '../../stores/outbox/subscriptions.ts';
import { newRow, type ScanRow } from '../../stores/scans/scan-row.ts';
import { withDefaults } from '../../core/scan/options.ts';
import { mailScanEnds } from './queue-mails.ts';

const ANN = 'ann@example.com';
const NOW = new Date('2026-03-02T10:00:00Z');

const ended = (id: string, over: Partial<ScanRow> = {}): ScanRow => ({
  ...newRow({
    ...{ id, organisation: 'acme', origin: 'api', resource: { namespace: 'scans', name: id }, submission: 'accepted' },
    ...{ options: withDefaults({ url: 'https://shop.example/' }), submittedBy: ANN, createdAt: NOW },
  }),
  ...{ site: 'shop.example', version: 2, updatedAt: NOW, phase: 'done' },
  ...over,
});

describe('mails about the end of scans', () => {
  it('go to the person who started the scan in the dashboard, and not about checks of a page', async () => {
    const mailed: unknown[] = [];
    const own = { id: 'subscription', email: ANN, organisation: 'acme', topics: ['own_scans'] } as unknown as Subscription;
    const stores = {
      subscriptions: { wanting: async () => [own] },
      outbox: { enqueue: async ({ data }: { data: { scanId: string } }) => void mailed.push(data.scanId) },
    } as unknown as Parameters<typeof mailScanEnds>[0]['stores'];
    const clock = { now: () => NOW } as Parameters<typeof mailScanEnds>[0]['clock'];
    await mailScanEnds({ stores, clock }, [
      ended('whole'),
      ended('compared', { baseline: { scan: 'whole' } }),
      ended('check', { baseline: { scan: 'whole', check: {} } }),
      ended('canceled', { phase: 'canceled' }),
      ended('others', { submittedBy: 'ben@example.com' }),
    ]);
    expect(mailed).to.deep.equal(['whole', 'compared']);
  });
});
