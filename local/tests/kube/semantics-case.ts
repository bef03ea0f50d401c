/** Shared types of the semantics cases. */
import { randomUUID } from 'node:crypto';
import type { CallOptions, Reply } from './client.ts';
import { widgets } from './widgets.ts';

export const NAMESPACE = `semantics-${randomUUID().slice(0, 8)}`;
export const CORE = `/api/v1/namespaces/${NAMESPACE}`;
export const WIDGETS = widgets(NAMESPACE);
export const MERGE = { type: 'application/merge-patch+json' };
export const STRATEGIC = { type: 'application/strategic-merge-patch+json' };
export const APPLY = { type: 'application/apply-patch+yaml' };
export const TABLE = { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' };

/** Sends the requests of a case. Every response is recorded. */
export interface Trial {
  call(method: string, path: string, body?: unknown, options?: CallOptions): Promise<Reply>;
}

export interface Case {
  name: string;
  run(trial: Trial): Promise<void>;
}

export const cases: Case[] = [];
/** Adds a case. */
export const behaves = (name: string, run: Case['run']): number => cases.push({ name, run });
