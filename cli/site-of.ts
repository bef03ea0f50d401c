/** Hosts in arguments. */
import { readSite } from '../core/scan/known-issues.ts';
import { UsageError } from './errors.ts';

/** Parses the site of an option. @throws UsageError */
export function siteFrom(command: string, option: string, text: string): string {
  const site = readSite(text);
  if (site !== null) return site;
  throw new UsageError(`--${option} ${text} must be a host, such as www.example.com, or an address without a path.`, command);
}
