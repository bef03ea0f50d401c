/** Kubernetes quantities, such as 500m, 2Gi or 1e9. */

const FACTORS: Readonly<Record<string, number>> = {
  n: 1e-9,
  u: 1e-6,
  m: 1e-3,
  '': 1,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  P: 1e15,
  E: 1e18,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
  Pi: 2 ** 50,
  Ei: 2 ** 60,
};

/** Reads a quantity. Returns null if it is malformed. */
export function amountOf(quantity: string): number | null {
  const [, sign, digits, suffix = '', exponent] =
    /^([+-]?)(\d+\.?\d*|\.\d+)(?:([numkMGTPE]|[KMGTPE]i)|[eE]([+-]?\d{1,3}))?$/.exec(quantity) ?? [];
  if (digits === undefined) return null;
  return (sign === '-' ? -1 : 1) * Number(digits) * FACTORS[suffix]! * 10 ** Number(exponent ?? 0);
}
