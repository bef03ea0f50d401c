/** "Did you mean": the known word that is nearest to an unknown one. */

/** The numbers of single-character edits between two words (Levenshtein), a row for each prefix of the first. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (const [i, letter] of [...a].entries())
    row = row.reduce<number[]>(
      (next, above, j) => [...next, j === 0 ? i + 1 : Math.min(above + 1, next[j - 1]! + 1, row[j - 1]! + (b[j - 1] === letter ? 0 : 1))],
      [],
    );
  return row.at(-1)!;
}

/** Returns the nearest word, or null if none is near: a third of its letters may differ, and two at least. */
export function nearest(word: string, known: readonly string[]): string | null {
  const [best] = known.map((name) => ({ name, edits: distance(word, name) })).sort((one, other) => one.edits - other.edits);
  return best !== undefined && best.edits <= Math.max(2, Math.floor(best.name.length / 3)) && best.edits < best.name.length
    ? best.name
    : null;
}
