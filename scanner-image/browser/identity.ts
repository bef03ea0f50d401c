/** How the browser of a scan introduces itself to sites. Everything that a site can read says the same. */
import type { Cdp } from './cdp.ts';
import type { Locale } from '../../core/scan/locales.ts';

/** The languages that a site is asked for, by the language of the scan, most wanted first. */
export const LANGUAGES: Readonly<Record<Locale, readonly [string, ...string[]]>> = {
  en: ['en-US', 'en'],
  de: ['de-DE', 'de', 'en'],
  fr: ['fr-FR', 'fr', 'en'],
  nl: ['nl-NL', 'nl', 'en'],
  pl: ['pl-PL', 'pl', 'en'],
};

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
    languages: LANGUAGES[locale],
    brands: [NO_BRAND, { brand: 'Chromium', version: major }, { brand: 'Curbcut', version: version.split('.')[0] ?? '0' }],
  };
}

/** The generic fonts of Chromium on a Linux desktop. */
const FONTS = {
  standard: 'Times New Roman',
  fixed: 'Monospace',
  serif: 'Times New Roman',
  sansSerif: 'Arial',
  cursive: 'Comic Sans MS',
  fantasy: 'Impact',
};

/** Gives a tab the screen and the fonts of a desktop computer. */
export async function emulateScreen(cdp: Cdp, { width, height }: { width: number; height: number }): Promise<void> {
  await Promise.all([
    // Each tab behaves as the one that a person looks at.
    cdp.send('Emulation.setFocusEmulationEnabled', { enabled: true }),
    cdp.send('Emulation.setDeviceMetricsOverride', {
      ...{ width, height, screenWidth: width, screenHeight: height },
      deviceScaleFactor: 1,
      mobile: false,
      // Painted at a tenth of its size, which no script and no style sheet can tell: what is painted has no effect on findings.
      // Screenshots have their own scale.
      scale: 0.1,
      screenOrientation: { type: 'landscapePrimary', angle: 0 },
    }),
    cdp.send('Page.setFontFamilies', { fontFamilies: FONTS }),
  ]);
}

/** The settings of a person, as media queries tell them. */
const PREFERENCES = [
  { name: 'prefers-reduced-motion', value: 'reduce' },
  { name: 'prefers-color-scheme', value: 'light' },
  { name: 'prefers-contrast', value: 'no-preference' },
  { name: 'forced-colors', value: 'none' },
];

/** Applies an identity to a tab, or to a frame in a process of its own. Without it the browser's brands (`Sec-CH-UA`) contradict its user agent. */
export async function introduce(cdp: Cdp, { userAgent, languages, brands }: Identity): Promise<void> {
  const override = {
    userAgent,
    acceptLanguage: languages.join(','),
    platform: 'Linux x86_64',
    userAgentMetadata: { brands, platform: 'Linux', platformVersion: '', architecture: 'x86', model: '', mobile: false },
  };
  await Promise.all([
    cdp.send('Emulation.setUserAgentOverride', override),
    cdp.send('Emulation.setEmulatedMedia', { features: PREFERENCES }),
    cdp.send('Emulation.setLocaleOverride', { locale: languages[0].replace('-', '_') }),
  ]);
}
