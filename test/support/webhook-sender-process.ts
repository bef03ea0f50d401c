/**
 * A sender of webhooks in a process of its own, which a test can kill. Its arguments: the address of the database, and the time limit of
 * a request in milliseconds. Its requests name its process.
 */
import { deliver } from '../../api/outbox/delivery-loop.ts';
import { createOutboxMetrics } from '../../api/outbox/metrics.ts';
import { createPost } from '../../api/outbox/post.ts';
import { createWebhookTransport } from '../../api/outbox/webhook-transport.ts';
import { sleep, systemClock } from '../../platform/clock.ts';
import { createResolver } from '../../platform/resolver.ts';
import { connectMongo } from '../../stores/mongo.ts';
import { createMetricFactory } from '../../stores/process-metrics.ts';
import { openStores } from '../../stores/stores.ts';
import { silentLogger } from './silent-logger.ts';

const POLL_MS = 20;

const { db, close } = connectMongo({ url: process.argv[2]! });
const timeoutMs = Number(process.argv[3]);
const stopping = new AbortController();
process.once('SIGTERM', () => stopping.abort());
const context = {
  stores: openStores(db),
  post: createPost({ rules: { allow: ['127.0.0.0/8'], deny: [] }, resolver: createResolver(), userAgent: String(process.pid), timeoutMs }),
  mailed: false,
  metrics: createOutboxMetrics(createMetricFactory()),
  logger: silentLogger,
  clock: systemClock,
  pollMs: POLL_MS,
  nextAttempt: (_attempts: number, _createdAt: Date, now: Date) => new Date(now.getTime() + 20),
};
// A lease is soon over after a kill, and much longer than a request, also while the machine is busy.
const transport = { ...createWebhookTransport(context), leaseMs: timeoutMs + 10_000 };
// As the API does it: a failure, such as a database that is busy for long, ends one run.
while (!stopping.signal.aborted) {
  await deliver(transport, context, stopping.signal).catch((error: unknown) => process.stderr.write(`${String(error)}\n`));
  await sleep(systemClock, POLL_MS, stopping.signal);
}
await close();
