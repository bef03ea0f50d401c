/** Organisations, their people and their audit log. */
import type { Db } from 'mongodb';
import { ANONYMOUS, ORGANISATION_ID, type Organisation } from '../../core/organisation.ts';
import { isDuplicate } from '../mongo-retry.ts';

export interface AuditEntry {
  organisation: string;
  /** `curbcut-admin`, an e-mail address, or `key:<id>`. */
  actor: string;
  /** `organisation.add`, `key.issue`, … */
  action: string;
  subject: string | null;
  at: Date;
}

export interface Organisations {
  /** @throws AlreadyExists where the id is taken; NamespaceTaken where another organisation has one of the namespaces; RangeError where the id is not a DNS label */
  add(organisation: Omit<Organisation, 'createdAt' | 'blocked'>): Promise<Organisation>;
  find(id: string): Promise<Organisation | null>;
  /** Who is charged for manifests in a Kubernetes namespace; null if nobody declared it. */
  findByNamespace(namespace: string): Promise<Organisation | null>;
  list(): Promise<Organisation[]>;
  /** @returns false if there is no such organisation */
  setBlocked(id: string, blocked: boolean): Promise<boolean>;
  /** Replaces the namespaces charged to it. @throws NamespaceTaken where another organisation has one of them */
  setNamespaces(id: string, namespaces: string[]): Promise<boolean>;
  record(entry: Omit<AuditEntry, 'at'>): Promise<void>;
  audit(organisation: string, limit: number): Promise<AuditEntry[]>;
}

export class AlreadyExists extends Error {
  constructor(what: string) {
    super(`${what} already exists`);
    this.name = 'AlreadyExists';
  }
}

export class NamespaceTaken extends Error {
  constructor(namespace: string, organisation: string) {
    super(`namespace ${namespace} is already charged to organisation ${organisation}`);
    this.name = 'NamespaceTaken';
  }
}

/** Absent instead of empty: a unique index would hold two empty lists for the same. */
type OrganisationDocument = Omit<Organisation, 'id' | 'namespaces'> & { _id: string; namespaces?: string[] };

function toOrganisation({ _id, displayName, plan, blocked, namespaces, createdAt }: OrganisationDocument): Organisation {
  return { id: _id, displayName, plan, blocked, namespaces: namespaces ?? [], createdAt };
}

/** Organisations and their audit log in MongoDB. */
export function createOrganisations(db: Db, { now = () => new Date() }: { now?: () => Date } = {}): Organisations {
  const organisations = db.collection<OrganisationDocument>('organisations');
  const audits = db.collection<AuditEntry>('audit');

  /** The first of the namespaces that another organisation has, as an error; null if nobody has one (any more). */
  async function conflictOver(namespaces: readonly string[], id: string): Promise<NamespaceTaken | null> {
    const other = await organisations.findOne({ namespaces: { $in: [...namespaces] }, _id: { $ne: id } });
    const taken = namespaces.find((namespace) => other?.namespaces?.includes(namespace));
    return other === null || taken === undefined ? null : new NamespaceTaken(taken, other._id);
  }

  return {
    async add({ id, displayName, plan, namespaces }) {
      if (!ORGANISATION_ID.test(id)) throw new RangeError(`an organisation's id is a DNS label (a-z, 0-9, -), not ${JSON.stringify(id)}`);
      if (id === ANONYMOUS) throw new AlreadyExists(`organisation ${id}`);
      const document: OrganisationDocument = { _id: id, displayName, plan, blocked: false, createdAt: now(), ...listed(namespaces) };
      try {
        await organisations.insertOne(document);
      } catch (error) {
        if (!isDuplicate(error)) throw error;
        // The code does not say which key it was.
        if ((await organisations.findOne({ _id: id })) !== null) throw new AlreadyExists(`organisation ${id}`);
        throw (await conflictOver(namespaces, id)) ?? error;
      }
      return toOrganisation(document);
    },

    async find(id) {
      const document = await organisations.findOne({ _id: id });
      return document && toOrganisation(document);
    },

    async findByNamespace(namespace) {
      const document = await organisations.findOne({ namespaces: namespace });
      return document && toOrganisation(document);
    },

    async list() {
      return (await organisations.find().sort({ _id: 1 }).toArray()).map(toOrganisation);
    },

    async setBlocked(id, blocked) {
      const { matchedCount } = await organisations.updateOne({ _id: id }, { $set: { blocked } });
      return matchedCount === 1;
    },

    async setNamespaces(id, namespaces) {
      const { namespaces: list } = listed(namespaces);
      const change = list === undefined ? { $unset: { namespaces: '' } as const } : { $set: { namespaces: list } };
      try {
        const { matchedCount } = await organisations.updateOne({ _id: id }, change);
        return matchedCount === 1;
      } catch (error) {
        if (!isDuplicate(error)) throw error;
        throw (await conflictOver(namespaces, id)) ?? error;
      }
    },

    async record(entry) {
      await audits.insertOne({ ...entry, at: now() });
    },

    async audit(organisation, limit) {
      const newest = audits.find({ organisation }, { projection: { _id: 0 } }).sort({ at: -1, _id: -1 });
      return newest.limit(limit).toArray();
    },
  };
}

function listed(namespaces: readonly string[]): { namespaces?: string[] } {
  return namespaces.length === 0 ? {} : { namespaces: [...new Set(namespaces)] };
}
