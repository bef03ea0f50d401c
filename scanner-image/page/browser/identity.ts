/** How the browser of a scan introduces itself to sites. Everything that a site can read says the same. */
import type { Cdp } from './cdp.ts';
import type { Locale } from '../../../core/scan/locales.ts';

/** The languages that a site is asked for, most wanted first, such as `de-DE`, `de` and `en`. */
export function languagesOf(locale: Locale): [string, ...string[]] {
  const { region } = new Intl.Locale(locale).maximize();
  return [`${locale}-${region}`, locale, ...(locale === 'en' ? [] : ['en'])];
}

/** Names the scanner in requests without a browser: for robots.txt and sitemaps. @param contact an address that tells who scans */
export const agentName = (version: string, contact?: string): string =>
  `Curbcut/${version}${contact === undefined ? '' : ` (+${contact})`}`;

/** A brand whose name and version mean nothing. Browsers send one, so that sites read the whole list. */
const NO_BRAND = { brand: 'Not)A;Brand', version: '8' };

export interface Identity {
  /** The user agent of a browser, because some sites require one, followed by our name. */
  userAgent: string;
  languages: readonly [string, ...string[]];
  brands: { brand: string; version: string }[];
}

/**
 * @param browserVersion the version of Chromium, such as `140.0.7339.16`
 * @param version Curbcut's version
 */
export function identityOf(browserVersion: string, version: string, locale: Locale, contact?: string): Identity {
  const major = browserVersion.split('.')[0] ?? '0';
  return {
    userAgent: `Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/${major}.0.0.0 Safari/537.36 ${agentName(version, contact)}`,
    languages: languagesOf(locale),
    brands: [NO_BRAND, { brand: 'Chromium', version: major }, { brand: 'Curbcut', version: version.split('.')[0] ?? '0' }],
  };
}

/**
 * Applies an identity to a page, or to a frame in a process of its own. Playwright can set neither the brands (`Sec-CH-UA`), which
 * would contradict the user agent, nor more than one language.
 */
export async function introduce(cdp: Cdp, { userAgent, languages, brands }: Identity): Promise<void> {
  const override = {
    userAgent,
    acceptLanguage: languages.join(','),
    platform: 'Linux x86_64',
    userAgentMetadata: { brands, platform: 'Linux', platformVersion: '', architecture: 'x86', model: '', mobile: false },
  };
  await Promise.all([
    cdp.send('Emulation.setUserAgentOverride', override),
    cdp.send('Emulation.setLocaleOverride', { locale: languages[0].replace('-', '_') }),
  ]);
}
