/** The mail about the result of a public scan: queued, claimed, sent and recorded. */
import { createRateLimits } from '../../../stores/rate-limits.ts';
import { createResultMailTask } from '../../../api/outbox/result-mails.ts';
import { createOutboxMetrics } from '../../../api/outbox/metrics.ts';
import { CLAIM_LEASE_MS, createSenderTask } from '../../../api/outbox/mail-transport.ts';
import type { Message } from '../../../api/outbox/smtp.ts';
import type { Clock } from '../../../platform/clock.ts';
import { dependencyIsDown } from '../../../stores/availability.ts';
import { createMetricFactory } from '../../../stores/process-metrics.ts';
import { createOutbox, resultMailId, type Outbox } from '../../../stores/outbox/outbox.ts';
import { createSuppressions } from '../../../stores/outbox/suppressions.ts';
import { createPublicScans } from '../../../stores/scans/public-scans.ts';
import { createScans } from '../../../stores/scans/scans.ts';
import { scanRow } from '../../support/scan-rows.ts';
import { SCAN_ID } from '../../support/scan-samples.ts';
import { silentLogger } from '../../support/silent-logger.ts';
import type { FlowOf } from './flow.ts';

/** A clock on which a pause takes one millisecond of real time. `pass` moves it. */
function fastClock(): Clock & { pass(ms: number): void } {
  let now = Date.parse('2126-03-02T10:00:00Z');
  return {
    now: () => new Date(now),
    monotonic: () => now,
    after(ms, work) {
      const timer = setTimeout(() => {
        now += ms;
        work();
      }, 1);
      return () => clearTimeout(timer);
    },
    pass: (ms) => void (now += ms),
  };
}

const METRICS = createOutboxMetrics(createMetricFactory());

/** An outbox of one mail, which looks for none while that is claimed, so that every run sends the same commands. */
function ofOneMail(outbox: Outbox): Outbox {
  let isClaimed = false;
  return {
    ...outbox,
    async claim(request) {
      const claim = isClaimed ? null : await outbox.claim(request);
      isClaimed ||= claim !== null;
      return claim;
    },
    async retry(claim, at, reason) {
      const recorded = await outbox.retry(claim, at, reason);
      isClaimed = false;
      return recorded;
    },
  };
}

export const mail: FlowOf = (db, healthy) => {
  const clock = fastClock();
  const { now } = clock;
  const mailId = resultMailId(SCAN_ID);
  const sent: string[] = [];
  const outbox = ofOneMail(createOutbox(db, { now }));
  const stored = createOutbox(healthy, { now });

  /** Runs the sender until the mail has ended. */
  async function send(): Promise<void> {
    const stopping = new AbortController();
    const task = createSenderTask({
      outbox,
      suppressions: createSuppressions(db, { now }),
      compose: async (claim) => ({ ok: true, message: { to: claim.mail.to } as Message }),
      openServer: () => ({ send: async ({ to }) => (sent.push(to), { ok: true }), close: () => undefined }),
      metrics: METRICS,
      logger: silentLogger,
      clock,
    });
    let stopped = false;
    const running = task.run(stopping.signal).finally(() => (stopped = true));
    running.catch(() => undefined);
    while (!stopped && (await stored.find(mailId))?.state === 'waiting') await new Promise((resolve) => setTimeout(resolve, 1));
    stopping.abort();
    await running;
  }

  return {
    async prepare() {
      const [scan, token] = [scanRow({ id: SCAN_ID, submission: 'accepted', phase: 'done', finishedAt: now() }), 'token'];
      await createScans(healthy).create(scan);
      const times = { createdAt: now(), expiresAt: new Date(now().getTime() + 30 * 86_400_000) };
      const about = { token, scanId: SCAN_ID, url: scan.options.url, email: 'ada@example.com', locale: 'en' as const };
      await createPublicScans(healthy, now).claim({ ...about, ...times }, '192.0.2.1');
    },
    async attempt() {
      const publicScans = createPublicScans(db, now);
      await createResultMailTask({ publicScans, scans: createScans(db), outbox, rateLimits: createRateLimits(db), now }).run(
        new AbortController().signal,
      );
      await send();
    },
    isOutage: dependencyIsDown,
    async wait() {
      // A claim whose answer was lost.
      clock.pass(CLAIM_LEASE_MS);
    },
    async end() {
      const unmailed = await healthy.collection('public_scans').countDocuments({ unmailedSince: { $exists: true } });
      const mails = await healthy.collection<{ _id: string; state: string; holder?: string }>('outbox').find().toArray();
      return {
        sent,
        unmailed,
        mails: mails.map(({ _id, state, holder }) => ({ id: _id, state, claimed: holder !== undefined })),
      };
    },
  };
};
