/** Where links of the report lead. */

/** Where a root cause is shown in full. */
export const placeOf = (index: number): string => `cause-${String(index).padStart(4, '0')}`;

/** Only what a browser may open is a link, spelt as PDF wants it: in ASCII. */
export function linkable(url: string): string | null {
  const parsed = URL.parse(url);
  return parsed !== null && (parsed.protocol === 'https:' || parsed.protocol === 'http:') ? parsed.href : null;
}
