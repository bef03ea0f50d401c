/** Where the links of a page of docs/ lead on `/docs`. Pure. */
import { posix } from 'node:path';
import { docPath } from '../../core/web-paths.ts';
import { DOC_NAMES } from './catalogue.ts';

export type Target =
  | { kind: 'here'; href: string }
  | { kind: 'outside'; href: string }
  /** A file of the repository that this installation does not serve. */
  | { kind: 'file'; path: string };

/** @param address as it is in the Markdown, relative to docs/ */
export function targetOf(address: string): Target {
  if (/^[a-z][a-z0-9+.-]*:/i.test(address)) return { kind: 'outside', href: address };
  if (/^[#/]/.test(address)) return { kind: 'here', href: address };
  const [, path = '', anchor = ''] = /^([^#]*)(#.*)?$/.exec(address) ?? [];
  const name = /^([^/]+)\.md$/.exec(path)?.[1];
  if (name !== undefined && DOC_NAMES.includes(name)) return { kind: 'here', href: docPath(name) + anchor };
  return { kind: 'file', path: posix.join('docs', path) };
}
