/** Addresses of the service for people. */
import { scanPath } from '../core/web-paths.ts';
import { readSite } from '../core/scan/known-issues.ts';
import type { CrawlRules, ScanOptions } from '../core/scan/options.ts';
import { UsageError } from './errors.ts';

/** The address of a service in one form, without a slash at the end: the same for every spelling of it. */
export const baseOf = (service: string): string => (URL.parse(service)?.href ?? service).replace(/\/+$/, '');

/** The page of a scan in the dashboard; undefined without a service. */
export const dashboardLink = (service: string | undefined, scanId: string): string | undefined =>
  service === undefined || service === '' ? undefined : `${baseOf(service)}${scanPath(encodeURIComponent(scanId))}`;

/** An address that the service gives relative to its own, such as `report_url`. */
export const absolute = (service: string | undefined, path: string): string =>
  service === undefined || service === '' ? path : `${baseOf(service)}${path}`;

/**
 * Hosts in arguments. Options about a site and its pages. Loads nothing, because every command imports the client. The options that the
 * user stated.
 */
export type SiteOptions = Partial<
  Pick<ScanOptions, 'maxPages' | 'wcagLevel' | 'wcagVersion' | 'locale' | 'pictures' | 'advice' | 'states' | 'parallelism' | 'httpFallback'>
> & {
  crawl?: Partial<CrawlRules>;
};

/** Parses the site of an option. @throws UsageError */
export function siteFrom(command: string, option: string, text: string): string {
  const site = readSite(text);
  if (site !== null) return site;
  throw new UsageError(`--${option} ${text} must be a host, such as www.example.com, or an address without a path.`, command);
}
