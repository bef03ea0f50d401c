/** Organisations, their people and their audit log. */
import type { Organisation } from '../core/organisation.ts';

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
  /** @throws AlreadyExists where the id is taken */
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
