/** The rendered pages of `/docs`. Each is rendered once, when it is first needed. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { readDocs } from './catalogue.ts';
import { outlineOf, renderDoc, type DocPage, type Outline } from './render.ts';

export interface Library {
  /** A page by its name; null if there is none. */
  page(name: string): DocPage | null;
  /** What the contents show of every page, by its name. */
  outlines(): ReadonlyMap<string, Outline>;
  /** Every page by its name, in the order of the contents. */
  all(): Promise<ReadonlyMap<string, DocPage>>;
}

/** Reads the pages. @throws Error if one is missing */
export async function openLibrary(): Promise<Library> {
  const texts = await readDocs();
  const rendered = new Map<string, DocPage>();
  function page(name: string): DocPage | null {
    const text = texts.get(name);
    if (text === undefined) return null;
    const known = rendered.get(name) ?? renderDoc(text);
    rendered.set(name, known);
    return known;
  }
  return {
    page,
    outlines: () => new Map([...texts].map(([name, text]) => [name, outlineOf(text)])),
    async all() {
      for (const name of texts.keys()) {
        if (rendered.has(name)) continue;
        page(name);
        // Other requests are answered in between: together the pages take about a second of CPU.
        await nextTurn();
      }
      return new Map([...texts.keys()].map((name) => [name, rendered.get(name)!]));
    },
  };
}
