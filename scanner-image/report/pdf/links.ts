/** The named destination of a root cause's section. */
export const placeOf = (index: number): string => `cause-${String(index).padStart(4, '0')}`;

/** The target of a link to a URL, in ASCII as PDF requires; null unless it is an http or https URL. */
export function linkable(url: string): string | null {
  const parsed = URL.parse(url);
  return parsed !== null && (parsed.protocol === 'https:' || parsed.protocol === 'http:') ? parsed.href : null;
}
