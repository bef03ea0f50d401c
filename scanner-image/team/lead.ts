/** Pod 0's side of a scan of several pods: the helpers that are there, and the visits that they make. */
import { randomInt } from 'node:crypto';
import type { NatsConnection } from '@nats-io/transport-node';
import { fromHelper, toHelper } from '../../core/protocol/subjects.ts';
import type { Team } from '../../core/protocol/pod-messages.ts';
import { connectToBus } from '../pod/messages.ts';
import type { Logger } from '../../platform/logger.ts';
import { withTimeLimit } from '../../platform/time-limits.ts';
import type { Visit, VisitRequest } from '../page/visit/visit.ts';
import type { SiteRules } from '../crawl/site.ts';
import { createJoiner, decode, encode, type FromHelper, onReconnect, partsOf, type RemoteRequest, type ToHelper } from './wire.ts';

/** The helper does not visit the page. Pod 0 does. */
export class HelperLost extends Error {
  override readonly name = 'HelperLost';
}

/** A helper that was not heard for so long is lost, in milliseconds. It may come back. */
const LOST_MS = 10_000;
const CHECK_MS = 1_000;
/** How much longer than its page's time a visit of a helper may take, in milliseconds: it may wait for the visit before it. */
const MARGIN_MS = 30_000;
/** How long the last messages may take, in milliseconds. A half-open connection would be noticed only after minutes. */
const CLOSE_MS = 2_000;

interface Helper {
  workers: number;
  since: number;
  heardAt: number;
  /** The text of the rules that it was told. */
  rules: string | null;
}

interface Sent {
  index: number;
  helper: Helper;
  until: number;
  onWaiting: VisitRequest['onWaiting'];
  visited: PromiseWithResolvers<Visit>;
}

/** Whether an answer may be a visit. Helpers open hostile pages. */
const isVisit = (visit: Visit): boolean =>
  typeof visit.durationMs === 'number' &&
  (visit.loaded
    ? visit.finalUrl instanceof URL && Array.isArray(visit.facts?.links) && Array.isArray(visit.pictures) && Array.isArray(visit.caveats)
    : typeof visit.message === 'string' && typeof visit.reason === 'string');

export interface TeamLead {
  /** The helpers that are there, with the number of pages that each visits at a time. */
  helpers(): { index: number; workers: number }[];
  /** Called when a helper comes. */
  onChange: () => void;
  /** Lets a helper visit a page. @throws HelperLost */
  visit(helper: number, slot: number, request: RemoteRequest & Pick<VisitRequest, 'onWaiting'>, rules: SiteRules): Promise<Visit>;
  /** Closes the connection. @param isOver ends the helpers too, which otherwise wait for a pod 0 that starts again. Default: true */
  close(isOver?: boolean): Promise<void>;
}

/** Starts to listen for helpers. Without a bus there are none, and pod 0 visits every page. */
export function leadTeam(team: Team, log: Logger, now: () => number = () => performance.now()): TeamLead {
  const helpers = new Map<number, Helper>();
  const sent = new Map<number, Sent>();
  const joiners = new Map<number, ReturnType<typeof createJoiner>>();
  let connection: NatsConnection | null = null;
  let closed = false;
  // A helper may still work for a pod 0 that was lost, whose numbers must not be those of this one.
  let ids = randomInt(2 ** 47);

  connectToBus(team, 'curbcut-scanner-lead').then(
    (opened) => {
      if (closed) return opened.close();
      connection = opened;
      opened.subscribe(fromHelper(team.subject, '*'), {
        callback(error, message) {
          if (error === null) take(message.subject, message.data);
        },
      });
      void onReconnect(opened, () => helpers.clear());
      for (let index = 1; index < team.pods; index++) send(index, { kind: 'hello' });
      return undefined;
    },
    (error: unknown) => log.warn({ err: error }, 'connecting to the message bus failed; this pod visits every page'),
  );

  function take(subject: string, part: Uint8Array): void {
    const index = Number(subject.slice(fromHelper(team.subject, 0).length - 1));
    if (!Number.isInteger(index) || index < 1 || index >= team.pods) return;
    const join = joiners.get(index) ?? createJoiner();
    joiners.set(index, join);
    const whole = join(part);
    if (whole === null) return;
    try {
      hear(index, decode(whole) as FromHelper);
    } catch (error) {
      log.warn({ helper: index, err: error }, 'message of a helper refused');
    }
  }

  function hear(index: number, message: FromHelper): void {
    const known = helpers.get(index);
    if (message.kind === 'ready') {
      const { workers, since } = message;
      if (known?.since === since) known.heardAt = now();
      // Of two pods, such as one on a lost node and its replacement, the newer one counts.
      if (known !== undefined && !(since > known.since)) return;
      helpers.set(index, { workers: Math.min(8, Math.max(1, Math.trunc(workers))), since, heardAt: now(), rules: null });
      log.info({ helper: index }, 'helper is there');
      return lead.onChange();
    }
    const waiting = sent.get(message.id);
    if (waiting?.index !== index) return;
    if (message.kind === 'waiting') return waiting.onWaiting?.(message.waits);
    sent.delete(message.id);
    if (message.visit !== null && isVisit(message.visit)) return waiting.visited.resolve(message.visit);
    // Until it says again that it is there, so that one that cannot work does not take page after page.
    if (known === waiting.helper) helpers.delete(index);
    waiting.visited.reject(new HelperLost(`helper ${index} could not visit the page`));
  }

  function send(index: number, message: ToHelper): void {
    for (const part of partsOf(encode(message))) connection?.publish(toHelper(team.subject, index), part);
  }

  const checking = setInterval(() => {
    for (const [index, { heardAt }] of helpers)
      if (now() - heardAt > LOST_MS) {
        helpers.delete(index);
        log.warn({ helper: index }, 'helper lost; this pod visits its pages');
      }
    for (const [id, { index, helper, until, visited }] of sent)
      if (helpers.get(index) !== helper || now() > until) {
        sent.delete(id);
        visited.reject(new HelperLost(`helper ${index} does not answer`));
      }
  }, CHECK_MS);
  checking.unref();

  const lead: TeamLead = {
    helpers: () => [...helpers].map(([index, { workers }]) => ({ index, workers })),
    onChange: () => undefined,
    visit(index, slot, { onWaiting, ...request }, rules) {
      const helper = helpers.get(index);
      if (helper === undefined) return Promise.reject(new HelperLost(`helper ${index} is gone`));
      const text = JSON.stringify(rules);
      const id = ++ids;
      try {
        if (helper.rules !== text) send(index, { kind: 'rules', rules });
        helper.rules = text;
        send(index, { kind: 'visit', id, slot, request });
      } catch (error) {
        // The bus has refused the connection for good, or the message.
        helpers.delete(index);
        return Promise.reject(new HelperLost(`helper ${index} cannot be reached`, { cause: error }));
      }
      const visited = Promise.withResolvers<Visit>();
      sent.set(id, { index, helper, until: now() + 2 * request.largeBudgetMs + MARGIN_MS, onWaiting, visited });
      return visited.promise;
    },
    async close(isOver = true) {
      closed = true;
      clearInterval(checking);
      for (const { visited } of sent.values()) visited.reject(new HelperLost('the scan has ended'));
      sent.clear();
      if (connection === null || connection.isClosed()) return;
      if (isOver) for (let index = 1; index < team.pods; index++) send(index, { kind: 'end' });
      await withTimeLimit(connection.drain(), CLOSE_MS, 'ending the helpers').catch(() => connection?.close());
    },
  };
  return lead;
}
