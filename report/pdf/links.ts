/** The named destination of a root cause's section. */
export const placeOf = (index: number): string => `cause-${String(index).padStart(4, '0')}`;

/** The target of a link to a URL, in ASCII as PDF requires; null unless it is an http or https URL. */
export function linkable(url: string): string | null {
  const parsed = URL.parse(url);
  return parsed !== null && (parsed.protocol === 'https:' || parsed.protocol === 'http:') ? parsed.href : null;
}

/** The path of a page on the scanned site, or the whole URL of another page. */
export function shortened(url: string, site: string): string {
  const parsed = URL.parse(url);
  const origin = URL.parse(site)?.origin;
  if (parsed === null || parsed.origin !== origin) return url;
  return url.slice(parsed.origin.length) || '/';
}
