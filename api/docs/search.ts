/** Searches the pages of `/docs`. Pure: the pages are few enough to look through all of their text for each search. */
import type { DocPage, Section } from './render.ts';

/** Longer queries are cut. */
export const QUERY_MAX = 100;
const WORDS_MAX = 10;
/** How many results a page shows. */
export const RESULTS_MAX = 20;
const EXCERPT_MAX = 240;

const IN_HEADING = 10;
const IN_TITLE = 4;
const IN_TEXT_MAX = 5;

export interface SearchResult {
  /** The name of the page. */
  name: string;
  page: string;
  section: Pick<Section, 'id' | 'title'>;
  /** The sentence with the most words of the query. */
  excerpt: string;
}

/** The words of a query, in lower case. */
export const wordsOf = (query: string): string[] =>
  [
    ...new Set(
      query
        .slice(0, QUERY_MAX)
        .toLowerCase()
        .split(/[\s,;"'`()]+/)
        .filter((word) => word !== ''),
    ),
  ].slice(0, WORDS_MAX);

/** Every section that has all the words, the best first. */
export function searchDocs(pages: ReadonlyMap<string, DocPage>, query: string): SearchResult[] {
  const words = wordsOf(query);
  if (words.length === 0) return [];
  const found = [...pages].flatMap(([name, { title, sections }]) =>
    sections.flatMap((section) => {
      const own = words.map((word) => scoreOf(word, section));
      const all = own.map((score, at) => score + (title.toLowerCase().includes(words[at]!) ? IN_TITLE : 0));
      // The page's title may have some of the words, but not all: then every section of the page would be found.
      if (all.includes(0) || own.every((score) => score === 0)) return [];
      const score = all.reduce((sum, one) => sum + one, 0);
      return [{ score, name, page: title, section, excerpt: excerptOf(section, words) }];
    }),
  );
  return found.sort((one, other) => other.score - one.score).map(({ score: _, ...result }) => result);
}

function scoreOf(word: string, { title, text }: Section): number {
  const inText = Math.min(text.toLowerCase().split(word).length - 1, IN_TEXT_MAX);
  return inText + (title.toLowerCase().includes(word) ? IN_HEADING : 0);
}

function excerptOf({ text }: Section, words: readonly string[]): string {
  const sentences = text.replace(/([.!?])\s+(?=\S)/g, '$1\n').split('\n');
  const count = (sentence: string): number => words.filter((word) => sentence.toLowerCase().includes(word)).length;
  const best = sentences.reduce((one, other) => (count(other) > count(one) ? other : one), sentences[0] ?? '');
  if (best.length <= EXCERPT_MAX) return best;
  const first = best.toLowerCase().indexOf(words.find((word) => best.toLowerCase().includes(word)) ?? '');
  const from = Math.max(0, first - EXCERPT_MAX / 3);
  return `${from > 0 ? '…' : ''}${best.slice(from, from + EXCERPT_MAX).trim()}…`;
}
