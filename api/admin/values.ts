/** Values of arguments that several commands share. */
import { GRANT_PAGES_MAX } from '../../core/organisation.ts';
import { CommandRefused } from './command.ts';

/** A Kubernetes namespace: a DNS label. */
const NAMESPACE = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;

/** Namespaces, each argument being a comma-separated list. @throws CommandRefused if a name is invalid */
export function namespacesOf(text: readonly string[]): string[] {
  const names = [...new Set(text.flatMap((part) => part.split(',')).filter((name) => name !== ''))];
  const invalid = names.find((name) => !NAMESPACE.test(name));
  if (invalid !== undefined) throw new CommandRefused(`${invalid} is not a valid Kubernetes namespace.`);
  return names;
}

/** A number of pages. @throws CommandRefused if it is out of range */
export function pagesOf(text: string): number {
  const pages = Number(text);
  if (!/^\d+$/.test(text) || pages < 1 || pages > GRANT_PAGES_MAX)
    throw new CommandRefused(`${text} is not a number of pages from 1 to ${GRANT_PAGES_MAX}.`);
  return pages;
}
