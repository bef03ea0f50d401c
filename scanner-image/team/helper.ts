/** A helper of a scan of several pods: visits the pages that pod 0 sends it, until that ends the scan. */
import { createHash } from 'node:crypto';
import type { NatsConnection } from '@nats-io/transport-node';
import { fromHelper, toHelper } from '../../core/protocol/subjects.ts';
import type { Logger } from '../../platform/logger.ts';
import { untilAborted } from '../../platform/time-limits.ts';
import { refusalBy, type SiteRules } from '../crawl/site.ts';
import type { Team } from '../../core/protocol/pod-messages.ts';
import { connectToBus } from '../pod/messages.ts';
import type { Pool } from '../page/browser/pool.ts';
import type { PictureBudget } from '../page/visit/pictures.ts';
import type { Visit } from '../page/visit/visit.ts';
import type { ScanOptions } from '../../core/scan/options.ts';
import { createJoiner, decode, encode, type FromHelper, onReconnect, partsOf, type RemoteRequest, type ToHelper } from './wire.ts';

const READY_MS = 1_000;
/** The most bytes of answers that are kept for a pod 0 that starts again, compressed. */
const KEPT_BYTES = 64 * 1024 * 1024;

export interface HelperDeps {
  team: Team;
  options: ScanOptions;
  workers: number;
  pool: Pick<Pool, 'prepare' | 'visit'>;
  pictures: PictureBudget | null;
  log: Logger;
  /** Ends the work. */
  signal: AbortSignal;
}

/** Helps until pod 0 ends the scan. @throws the signal's reason; Error if the bus refuses the connection */
export async function help({ team, options, workers, pool, pictures, log, signal }: HelperDeps): Promise<void> {
  const connection = await untilAborted(connectToBus(team, `curbcut-scanner-helper-${team.index}`), signal);
  const ended = Promise.withResolvers<void>();
  const answers = createAnswers();
  /** The last visit of each slot: a tab visits one page at a time. */
  const slots = new Map<number, Promise<unknown>>();
  let rules: SiteRules | null = null;
  const send = (message: FromHelper): void => publish(connection, team, encode(message));
  let since = Date.now();
  const tell = (): void => send({ kind: 'ready', workers, since });

  async function visit(id: number, slot: number, request: RemoteRequest, site: SiteRules): Promise<void> {
    if (request.pictures !== null) pictures?.adopt(request.pictures);
    const kept = answers.of(request);
    const visited = kept === undefined ? await visitOf(id, slot, request, site) : (decode(kept) as Visit);
    // A page that failed is visited again: its server may have asked to wait.
    if (visited.loaded) answers.keep(request, kept ?? encode(visited));
    send({ kind: 'visited', id, visit: visited });
  }

  async function visitOf(
    id: number,
    slot: number,
    { testsStates, url, test, plan, budgetMs, largeBudgetMs }: RemoteRequest,
    site: SiteRules,
  ) {
    const refusal = refusalBy(options, site);
    return pool.visit(slot, {
      ...{ url, test, plan, budgetMs, largeBudgetMs },
      mayGoTo: (target) => refusal(target, url),
      testsStates: () => testsStates,
      onWaiting: (waits) => send({ kind: 'waiting', id, waits }),
    });
  }

  function take(message: ToHelper): void {
    if (message.kind === 'end') return ended.resolve();
    if (message.kind === 'hello') return tell();
    if (message.kind === 'rules') return void (rules = message.rules);
    const { id, slot, request } = message;
    const site = rules;
    const before = slots.get(slot) ?? Promise.resolve();
    const working = before
      .then(() => (site === null ? Promise.reject(new Error('no rules')) : visit(id, slot, request, site)))
      .catch((error: unknown) => {
        log.warn({ page: request.url.href, err: error }, 'visiting a page for pod 0 failed');
        send({ kind: 'visited', id, visit: null });
      });
    slots.set(slot, working);
  }

  const join = createJoiner();
  connection.subscribe(toHelper(team.subject, team.index), {
    callback(error, message) {
      const whole = error === null ? join(message.data) : null;
      try {
        if (whole !== null) take(decode(whole) as ToHelper);
      } catch (error) {
        // Thrown on, it would end the reading of the connection.
        log.warn({ err: error }, 'message of pod 0 refused');
      }
    },
  });
  void onReconnect(connection, () => (since = Date.now()));
  for (let slot = 0; slot < workers; slot++) pool.prepare(slot);
  const telling = setInterval(tell, READY_MS);
  tell();
  try {
    await untilAborted(ended.promise, signal);
  } finally {
    clearInterval(telling);
    await connection.close().catch(() => undefined);
  }
}

function publish(connection: NatsConnection, team: Team, message: Uint8Array): void {
  // A visit may end after the scan.
  if (connection.isClosed()) return;
  for (const part of partsOf(message)) connection.publish(fromHelper(team.subject, team.index), part);
}

/** What the result of a visit depends on, besides the site. What a page gives in vain is not taken. */
const keyOf = ({ pictures: _pictures, testsStates, ...request }: RemoteRequest): string =>
  `${testsStates}${createHash('sha256').update(encode(request)).digest('hex')}`;

/** The newest answers, for a pod 0 that starts again: it asks for the same pages. */
function createAnswers() {
  const kept = new Map<string, Uint8Array>();
  let bytes = 0;
  return {
    of: (request: RemoteRequest): Uint8Array | undefined => kept.get(keyOf({ ...request, testsStates: true })) ?? kept.get(keyOf(request)),
    keep(request: RemoteRequest, answer: Uint8Array): void {
      const key = keyOf(request);
      if (kept.has(key)) return;
      kept.set(key, answer);
      bytes += answer.byteLength;
      for (const [oldest, { byteLength }] of kept) {
        if (bytes <= KEPT_BYTES) return;
        kept.delete(oldest);
        bytes -= byteLength;
      }
    },
  };
}
