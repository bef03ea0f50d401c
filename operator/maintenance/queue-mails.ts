/** Queues mails for members who asked for them. What happened is stored once for each recipient, so that a repetition changes nothing. */
import { keyIdOf } from '../../core/accounts.ts';
import { siteOf } from '../../core/scan/site.ts';
import { uuidOf } from '../../core/uuid.ts';
import type { MailData } from '../../stores/outbox/mails.ts';
import { siteTopic, type Subscription } from '../../stores/outbox/subscriptions.ts';
import { isCheck, type ScanRow } from '../../stores/scans/scan-row.ts';
import type { WebhookEventRecord } from '../../stores/webhooks/events.ts';
import type { OperatorContext } from '../context.ts';

/** After this time nobody waits for the news any more, in milliseconds: mail was off, or its server was down. */
const USEFUL_MS = 2 * 86_400_000;

type Context = Pick<OperatorContext, 'clock'> & { stores: Pick<OperatorContext['stores'], 'subscriptions' | 'outbox'> };

/** Mails people whose scans ended. Whoever cancels a scan knows it, and whoever checks a page waits for its answer. */
export async function mailScanEnds(context: Context, rows: readonly ScanRow[]): Promise<void> {
  const started = rows.filter(
    (row) => row.phase !== 'canceled' && !isCheck(row) && row.submittedBy !== undefined && keyIdOf(row.submittedBy) === null,
  );
  if (started.length === 0) return;
  const wanting = await context.stores.subscriptions.wanting([...new Set(started.map(({ organisation }) => organisation))], ['own_scans']);
  for (const { id, organisation, submittedBy } of started) {
    const own = wanting.find((one) => one.organisation === organisation && one.email === submittedBy);
    if (own !== undefined) await queue(context, own, id, { topic: 'own_scans', scanId: id });
  }
}

/** Mails those who watch the site of a schedule that got worse, at most once a day: it may get better and worse every hour. */
export async function mailRegression(context: Context, { organisation, scan: scanId, at, data }: WebhookEventRecord): Promise<void> {
  // While it stays worse, it is no news.
  if (data.began === false) return;
  const topic = siteTopic(siteOf(data.url));
  const { namespace, name, comparison } = data;
  const once = `${namespace}/${name} ${at.toISOString().slice(0, 10)}`;
  for (const one of await context.stores.subscriptions.wanting([organisation], [topic]))
    await queue(context, one, once, { topic, scanId, comparison });
}

async function queue(
  { stores, clock }: Context,
  { id: subscription, email: to, organisation }: Subscription,
  once: string,
  about: Omit<MailData['scan_ended'], 'subscription' | 'expiresAt'>,
): Promise<void> {
  const id = `scan-ended:${uuidOf(JSON.stringify([organisation, once, to]))}`;
  const expiresAt = new Date(clock.now().getTime() + USEFUL_MS).toISOString();
  await stores.outbox.enqueue({ id, kind: 'scan_ended', to, organisation, data: { subscription, ...about, expiresAt } });
}
