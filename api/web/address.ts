/** Addresses with a query. */

/** An address with parameters. Those without a value are left out. */
export function addressOf(path: string, parameters: Readonly<Record<string, string | number | null | undefined>>): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) if (value != null && value !== '') query.set(name, String(value));
  return query.size === 0 ? path : `${path}?${query.toString()}`;
}
