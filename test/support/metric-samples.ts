/** Reads what Prometheus scrapes. */

/** Returns the samples of a scrape by `name{labels}`. */
export function samplesOf(text: string): Map<string, number> {
  return new Map([...text.matchAll(/^(curbcut_\S+(?:\{[^}]*\})?) (\S+)$/gm)].map(([, name, value]) => [name!, Number(value)]));
}
