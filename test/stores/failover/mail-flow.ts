/** The mail about the result of a public scan: queued, claimed, sent and recorded. */
import { queueResultMails } from '../../../api/outbox/result-mails.ts';
import { createOutboxMetrics } from '../../../api/outbox/metrics.ts';
import { CLAIM_LEASE_MS, sendMails } from '../../../api/outbox/mail-transport.ts';
import type { Message } from '../../../api/outbox/smtp.ts';
import type { Clock } from '../../../platform/clock.ts';
import { dependencyIsDown } from '../../../stores/availability.ts';
import { createMetricFactory } from '../../../stores/process-metrics.ts';
import { resultMailId } from '../../../stores/outbox/mails.ts';
import { createOutbox, type Outbox } from '../../../stores/outbox/outbox.ts';
import { createSuppressions } from '../../../stores/outbox/suppressions.ts';
import { createPublicScans } from '../../../stores/scans/public-scans.ts';
import { createScans } from '../../../stores/scans/scans.ts';
import { openStores } from '../../../stores/stores.ts';
import type { MailEntry } from '../../../stores/outbox/entries.ts';
import { scanRow } from '../../support/scan-rows.ts';
import { SCAN_ID } from '../../support/scan-samples.ts';
import { findMail } from '../../support/find-mail.ts';
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
    async claim(...filter) {
      const claim = isClaimed ? null : await outbox.claim(...filter);
      isClaimed ||= claim !== null;
      return claim;
    },
    async retry(...attempt) {
      const recorded = await outbox.retry(...attempt);
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
  const stores = { ...openStores(db), outbox, suppressions: createSuppressions(db, { now }), publicScans: createPublicScans(db, now) };

  /** Runs the sender until the mail has ended. */
  async function send(): Promise<void> {
    const stopping = new AbortController();
    const context = {
      stores,
      compose: async ({ to }: MailEntry) => ({ to }) as Message,
      openServer: () => ({ send: async ({ to }: Message) => (sent.push(to), { ok: true as const }), close: () => undefined }),
      metrics: METRICS,
      logger: silentLogger,
      clock,
    };
    let stopped = false;
    const running = sendMails(context, stopping.signal).finally(() => (stopped = true));
    running.catch(() => undefined);
    while (!stopped && (await findMail(healthy, mailId))?.state === 'waiting') await new Promise((resolve) => setTimeout(resolve, 1));
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
      await queueResultMails({ stores, mailed: true, now }, new AbortController().signal);
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
