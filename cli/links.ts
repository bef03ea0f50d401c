/** Addresses of the service for people. */
import { scanPath } from '../core/web-paths.ts';

/** The address of a service in one form, without a slash at the end: the same for every spelling of it. */
export const baseOf = (service: string): string => (URL.parse(service)?.href ?? service).replace(/\/+$/, '');

/** The page of a scan in the dashboard; undefined without a service. */
export const dashboardLink = (service: string | undefined, scanId: string): string | undefined =>
  service === undefined || service === '' ? undefined : `${baseOf(service)}${scanPath(encodeURIComponent(scanId))}`;

/** An address that the service gives relative to its own, such as `report_url`. */
export const absolute = (service: string | undefined, path: string): string =>
  service === undefined || service === '' ? path : `${baseOf(service)}${path}`;
