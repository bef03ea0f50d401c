/** How far two scans can be compared. Pure. */
import { createHash } from 'node:crypto';
import type { ScanFacts } from './reduce.ts';

/** What differs between two scans, other than the site. */
export const CAVEATS = [
  'site',
  'wcag',
  'pages',
  'crawl',
  'locale',
  'axe_core',
  'score_version',
  'fingerprint_version',
  'elements_left_out',
  'partial_report',
] as const;

/** Those that may make violations new which are not the site's. */
export const UNFAIR_CAVEATS = [
  'wcag',
  'axe_core',
  'score_version',
  'fingerprint_version',
] as const satisfies readonly (typeof CAVEATS)[number][];

/** A part of the difference that may come from the scans and not from the site. */
export interface Caveat {
  reason: (typeof CAVEATS)[number] | 'decisions';
  /** A sentence for reports and pages. */
  message: string;
  before: string;
  after: string;
}

interface Aspect {
  /** Compared, and shown. */
  of: (about: ScanFacts) => string;
  message: string;
  /** Whether the values allow a full comparison. Default: they are equal. */
  isAlike?: (before: string, after: string) => boolean;
}

const ASPECTS: Readonly<Record<(typeof CAVEATS)[number], Aspect>> = {
  site: {
    of: ({ url }) => url,
    message: 'The scans begin at different addresses. Pages are compared by their path.',
  },
  wcag: {
    of: ({ options }) => `${options.wcag_version} ${options.wcag_level}`,
    message: 'The scans test different WCAG versions or levels. Violations of rules that only one of them ran are shown as new or fixed.',
  },
  pages: {
    of: ({ options }) => String(options.pages_reserved),
    message: 'The scans may test different numbers of pages.',
  },
  crawl: {
    of: ({
      options: {
        wcag_version: _version,
        wcag_level: _level,
        pages_requested: _requested,
        pages_reserved: _reserved,
        locale: _locale,
        pictures: _pictures,
        advice: _advice,
        states: _states,
        http_fallback: _fallback,
        parallelism: _pods,
        ...crawl
      },
    }) => JSON.stringify(crawl, withoutUnset),
    message: 'The scans choose their pages by different rules.',
  },
  locale: {
    of: ({ options }) => options.locale,
    message: 'The scans describe their findings in different languages.',
  },
  axe_core: {
    of: ({ tools }) => tools.axe_core,
    message: 'The scans were made with different versions of axe-core, whose rules may differ.',
  },
  score_version: {
    of: ({ scoreVersion }) => String(scoreVersion),
    message: 'The scans were made with different checks of Curbcut. Scores, and what is new or fixed, may differ because of that.',
  },
  fingerprint_version: {
    of: ({ fingerprintVersion }) => String(fingerprintVersion),
    message: 'The exports hold different evidence of elements. Elements that changed place are matched less surely.',
  },
  elements_left_out: {
    of: ({ uncounted }) => String(uncounted),
    message: 'An export leaves out root causes of pages with very many violations. Their elements are missing from the difference.',
    isAlike: (before, after) => before === '0' && after === '0',
  },
  partial_report: {
    of: ({ partial }) => (partial ? 'partial' : 'complete'),
    message: 'A scan was canceled before all pages were tested. What is on the missing pages is unknown.',
  },
};

/** Leaves out lists that are not set, which an earlier version may not know, and says of a list of addresses only which one it is. */
function withoutUnset(name: string, value: unknown): unknown {
  if (!Array.isArray(value)) return value;
  if (value.length === 0) return undefined;
  return name === 'urls' ? `${value.length} addresses, ${createHash('sha256').update(value.join('\n')).digest('hex').slice(0, 8)}` : value;
}

/** The caveats between two scans, in the order of `CAVEATS`. */
export function caveatsBetween(before: ScanFacts, after: ScanFacts): Caveat[] {
  return CAVEATS.flatMap((reason) => {
    const { of, message, isAlike = (left, right) => left === right } = ASPECTS[reason];
    const [one, other] = [of(before), of(after)];
    return isAlike(one, other) ? [] : [{ reason, message, before: one, after: other }];
  });
}
