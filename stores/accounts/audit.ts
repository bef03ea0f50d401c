/**
 * The audit log: every change to an organisation, its users and its keys, which is kept. It also has what concerns the security of
 * accounts and keys, with the client's network. That is removed after `SECURITY_KEPT_DAYS`.
 */
import { createHash } from 'node:crypto';
import { ObjectId, type Db, type Filter } from 'mongodb';
import { retry } from '../../platform/concurrency/retry.ts';
import { isSecurityAction } from '../../core/audit-actions.ts';
import { insertMissing, insertNew, retryRace } from '../mongo-retry.ts';
import type { ScanRow } from '../scans/scan-row.ts';
import { createCollector } from './collector.ts';

/** How long entries about security are kept. */
export const SECURITY_KEPT_DAYS = 90;
/** Networks that an entry of several events names, before it leaves out further ones. */
const NETWORKS_PER_ENTRY = 10;
/** Waits before an entry is written again, in milliseconds. Its caller has made a change that must not go unrecorded. */
const RETRY_AFTER_MS = [50, 250];

export const AUDIT_KINDS = ['changes', 'security'] as const;
export type AuditKind = (typeof AUDIT_KINDS)[number];

export interface NewAuditEntry {
  organisation: string;
  /** `curbcut-admin`, `manifest`, an e-mail address, or `key:<id>`. */
  actor: string;
  /** `organisation.add`, `key.issue`, … */
  action: string;
  subject: string | null;
  /** The client's network (`auditNetwork`). Stored only with actions about security. */
  network?: string | null;
  /** Default: now. */
  at?: Date;
  /**
   * What happened, unique within the organisation and the action, such as the ID of a new key. An entry of it is stored once,
   * so that a repeated request, or one whose first answer was lost, can record it again.
   */
  once?: string;
}

/** Events of the same kind that share one entry. */
export interface Tally extends Pick<NewAuditEntry, 'organisation' | 'actor' | 'action' | 'subject'> {
  network: string;
  /** The time for which the events share an entry. */
  per: 'hour' | 'day';
  /** Default: 1. */
  count?: number;
}

export interface AuditEntry extends Required<Pick<NewAuditEntry, 'organisation' | 'actor' | 'action' | 'subject' | 'at'>> {
  networks: readonly string[];
  /** The number of events, from `at` to `until`. */
  count: number;
  until: Date;
}

/** A part of the audit log, newest first. */
export interface AuditPage {
  /** Only entries of this kind. */
  kind?: AuditKind;
  /** Only entries of this action. */
  action?: string;
  /** Only entries of this actor. */
  actor?: string;
  /** Only entries from this time on. */
  from?: Date;
  /** Only entries before this time. */
  before?: Date;
  /** Only entries after this one in the list. */
  after?: { at: Date; id: string } | null;
  limit: number;
}

/** `kind` is absent in changes. The fields after it are absent in entries without them. */
type AuditDocument = Pick<AuditEntry, 'organisation' | 'actor' | 'action' | 'subject' | 'at'> & {
  _id: ObjectId;
  kind?: 'security';
  networks?: string[];
  count?: number;
  until?: Date;
  /** When the server removes the entry. */
  expiresAt?: Date;
};

const DAY_MS = 86_400_000;
const WINDOW_MS = { hour: 3_600_000, day: DAY_MS } as const;

/** The ID of an entry that is stored once. All IDs are of one type, because MongoDB compares only values of the same type. */
const idOf = (...parts: readonly string[]): ObjectId =>
  new ObjectId(createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 24));

function retention(action: string, at: Date): Pick<AuditDocument, 'kind' | 'expiresAt'> {
  return isSecurityAction(action) ? { kind: 'security', expiresAt: new Date(at.getTime() + SECURITY_KEPT_DAYS * DAY_MS) } : {};
}

/** Rows whose entries wait. */
const STARTED_MAX = 10_000;

export function createAuditLog(db: Db, now: () => Date) {
  const entries = db.collection<AuditDocument>('audit');
  const started = createCollector<ScanRow>({ max: STARTED_MAX, write: (rows) => recordStarts(rows.map(({ event }) => event)) });

  async function recordStarts(rows: readonly ScanRow[]): Promise<void> {
    const action = 'scan.submit';
    const documents = rows.flatMap(({ id, organisation, submittedBy: actor, site, createdAt: at }) =>
      actor === undefined ? [] : [{ _id: idOf(organisation, action, id), organisation, actor, action, subject: `${site} ${id}`, at }],
    );
    await insertMissing(entries, documents);
  }

  /** @returns whether the document was stored now */
  const insert = (document: AuditDocument): Promise<boolean> =>
    retry(
      // After an attempt that failed, the answer to an insert that succeeded was probably lost.
      async (attempt) => (await insertNew(entries, document)) || attempt > 1,
      { attempts: RETRY_AFTER_MS.length + 1, pauseMs: (attempt) => RETRY_AFTER_MS[attempt - 1]! },
    );

  return {
    /**
     * Writes who started these scans, and when, which follows from their rows: one entry for each scan, in one command. Scans that nobody
     * started, as of manifests, have none.
     */
    recordStarts,

    /** The same within about a second, together with other scans. What is lost is written when the scan has ended. */
    recordStart: (row: ScanRow) => started.add(row.id, row),

    /** Writes the waiting entries now. Never rejects. Call it before the connection is closed. */
    flush: started.flush,

    /**
     * Writes an entry. Tries again for a moment if the database does not answer.
     * @returns false if there was an entry of `once` already; one about security is then kept longer, as if it were new
     */
    async record({ organisation, actor, action, subject, network = null, at = now(), once }: NewAuditEntry): Promise<boolean> {
      const kept = retention(action, at);
      const networks = kept.kind === 'security' && network !== null ? { networks: [network] } : {};
      const _id = once === undefined ? new ObjectId() : idOf(organisation, action, once);
      const stored = await insert({ _id, organisation, actor, action, subject, at, ...kept, ...networks });
      if (!stored && kept.expiresAt !== undefined) await entries.updateOne({ _id }, { $max: { until: at, expiresAt: kept.expiresAt } });
      return stored;
    },

    /** Adds to the entry of an hour or a day. However many events there are, there is one entry for each actor and action. */
    async tally({ organisation, actor, action, subject, network, per, count = 1 }: Tally) {
      const at = now();
      const window = Math.floor(at.getTime() / WINDOW_MS[per]);
      const _id = idOf(organisation, action, actor, subject ?? '', per, String(window));
      const first = { organisation, actor, action, subject, at, ...retention(action, at) };
      await retryRace(() => entries.updateOne({ _id }, { $setOnInsert: first, $inc: { count }, $max: { until: at } }, { upsert: true }));
      await entries.updateOne({ _id, [`networks.${NETWORKS_PER_ENTRY - 1}`]: { $exists: false } }, { $addToSet: { networks: network } });
    },

    /** Returns the newest entries of an organisation, newest first. */
    async audit(organisation: string, limit: number): Promise<AuditEntry[]> {
      const newest = entries.find({ organisation }).sort({ at: -1, _id: -1 });
      return (await newest.limit(limit).toArray()).map(toEntry);
    },

    /** Returns entries of an organisation with their ids, newest first. */
    async auditPage(
      organisation: string,
      { kind, action, actor, from, before, after, limit }: AuditPage,
    ): Promise<(AuditEntry & { id: string })[]> {
      const filter: Filter<AuditDocument> = {
        $and: [
          { organisation },
          kind === undefined ? {} : { kind: kind === 'security' ? kind : (null as never) },
          action === undefined ? {} : { action },
          actor === undefined ? {} : { actor },
          from === undefined ? {} : { at: { $gte: from } },
          before === undefined ? {} : { at: { $lt: before } },
          after ? afterEntry(after) : {},
        ],
      };
      const found = await entries.find(filter).sort({ at: -1, _id: -1 }).limit(limit).toArray();
      return found.map((document) => ({ ...toEntry(document), id: document._id.toHexString() }));
    },
  };
}
export type AuditLog = ReturnType<typeof createAuditLog>;

function toEntry({ organisation, actor, action, subject, at, networks = [], count = 1, until = at }: AuditDocument): AuditEntry {
  return { organisation, actor, action, subject, at, networks, count, until };
}

function afterEntry({ at, id }: { at: Date; id: string }): Filter<AuditDocument> {
  // An id of another form is of no entry.
  const sameMoment = ObjectId.isValid(id) ? [{ at, _id: { $lt: new ObjectId(id) } }] : [];
  return { $or: [{ at: { $lt: at } }, ...sameMoment] };
}
