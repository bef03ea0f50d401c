/** The site that a scan belongs to. */

/** Returns the host of a URL in lower case, with its port if it is not the default one; empty if the text is not a URL. */
export function siteOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : '';
}
