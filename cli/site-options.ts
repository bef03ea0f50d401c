/** Options about a site and its pages. Loads nothing, because every command imports the client. */
import type { CrawlRules, ScanOptions } from '../core/scan/options.ts';

/** The options that the user stated. */
export type SiteOptions = Partial<
  Pick<ScanOptions, 'maxPages' | 'wcagLevel' | 'wcagVersion' | 'locale' | 'pictures' | 'advice' | 'httpFallback'>
> & {
  crawl?: Partial<CrawlRules>;
};
