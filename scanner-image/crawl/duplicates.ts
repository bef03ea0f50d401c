/**
 * Recognises a page that was already tested under another address: it displays the same, or it names the same canonical
 * address and has the same main content. A canonical link alone is not trusted, because many sites name their start page as
 * the canonical address of every page. Pages with different findings are never the same. Pure.
 */
import { createHash } from 'node:crypto';
import type { PageFindings } from '../page/axe/results.ts';
import type { PageFacts } from '../page/visit/visit.ts';

export interface ComparedPage {
  /** The key of its address. */
  key: string;
  /** The key of its canonical address, if it is another page of the site. */
  canonicalKey: string | null;
  content: PageFacts['content'];
  /** Null if only the page's links were read. */
  findings: PageFindings | null;
}

/** The page whose test covers another, and what made them equal. */
export interface SamePage {
  url: string;
  by: 'content' | 'canonical';
}

export interface Duplicates {
  find(page: ComparedPage): SamePage | null;
  /** @param url the page's `url` in the report */
  add(url: string, page: ComparedPage): void;
}

export function createDuplicates(): Duplicates {
  /** Tested pages by what they have in common with their duplicates. */
  const byContent = new Map<string, string>();
  const byCanonical = new Map<string, string>();
  const keysOf = ({ key, canonicalKey, content, findings }: ComparedPage): { content: string; canonical: string } => {
    const digest = digestOf(findings);
    return { content: `${content.whole} ${digest}`, canonical: `${canonicalKey ?? key} ${content.main} ${digest}` };
  };
  return {
    find(page) {
      const keys = keysOf(page);
      const same = byContent.get(keys.content);
      if (same !== undefined) return { url: same, by: 'content' };
      const canonical = byCanonical.get(keys.canonical);
      return canonical === undefined ? null : { url: canonical, by: 'canonical' };
    },
    add(url, page) {
      const keys = keysOf(page);
      byContent.set(keys.content, url);
      if (!byCanonical.has(keys.canonical)) byCanonical.set(keys.canonical, url);
    },
  };
}

/** A digest of the rules that failed or need review, and of the numbers of their elements. */
function digestOf(findings: PageFindings | null): string {
  if (findings === null) return 'untested';
  const numbers = [findings.violations, findings.needsReview].map((rules) =>
    rules.map(({ rule, nodes_total }) => `${rule} ${nodes_total}`).sort(),
  );
  return createHash('sha256').update(JSON.stringify(numbers)).digest('base64');
}
