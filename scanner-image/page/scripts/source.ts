/** The script for the isolated world of every document: axe-core, its messages in the scan's language, and our functions. Runs them. */
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import type { Locale } from '../../../core/scan/locales.ts';
import { ADVICE_RULES } from '../../../report/rules/rules.ts';
import { OWN_RULES, STATE_RULES } from '../../../report/schema/engines.ts';
import {
  FAILURE_SUMMARY_MAX,
  LANDMARK_ELEMENTS,
  LANDMARKS,
  NODE_HTML_MAX,
  POSITION_MAX,
  RELATED_MAX,
  SELECTOR_MAX,
} from '../../../report/schema/page.ts';
import { ownMessage, ruleText } from '../../../report/rule-texts/rule-texts.ts';
import { ADDRESS_MAX } from '../../crawl/address.ts';
import { axeTags, type ScanOptions } from '../../../core/scan/options.ts';
import type { EgressFailure } from '../../egress/egress-failures.ts';
import type { Cdp } from '../browser/cdp.ts';
import { errorMessage } from '../../../platform/errors.ts';

/** The name of the isolated world. The scripts of the page run in a different world. */
export const WORLD = 'curbcut';

const require = createRequire(import.meta.url);

export const AXE_VERSION: string = (require('axe-core/package.json') as { version: string }).version;

/** Limits of our scripts in the page, in characters unless it says otherwise. */
const LIMITS = {
  html: NODE_HTML_MAX,
  /** Longer attribute values are shortened. */
  value: 500,
  /** Utility classes are long, and their number says which component it is. */
  classLength: 1500,
  /** Texts and values inside an element that does not fit. */
  shortened: 80,
  /** An element beyond the limit of its document. */
  outline: 300,
  /** The number of ancestors that are searched for a landmark. */
  depth: 500,
  /** Longer selectors are replaced by the end of the element's path. */
  selector: SELECTOR_MAX / 2,
  frameUrl: 2048,
  /** The address of a link. */
  address: ADDRESS_MAX,
  /** The number of shadow hosts in a path, if it is replaced. */
  shadows: 10,
  summary: FAILURE_SUMMARY_MAX,
  /** The number of related elements of a node. */
  related: RELATED_MAX,
  landmarks: LANDMARKS,
  landmarkElements: LANDMARK_ELEMENTS,
  /** The largest distance from the origin of the page, in CSS pixels. */
  position: POSITION_MAX,
  /** The part of a page that a picture shows, in CSS pixels. */
  wholePicture: { maxWidth: 4000, maxHeight: 4000 },
  picture: { margin: 48, minWidth: 480, minHeight: 220, maxWidth: 900, maxHeight: 560 },
};

/** The HTML of all findings of a scan, in characters. A small part of the largest export that is accepted. */
const SCAN_HTML_MAX = 24_000_000;
/** The HTML of the findings of a document, in characters. */
const DOCUMENT_HTML_MAX = 400_000;

/** Returns how much HTML a document's findings may have before they are described by their start tags only. */
export const htmlTotal = (maxPages: number): number => Math.min(DOCUMENT_HTML_MAX, Math.floor(SCAN_HTML_MAX / maxPages));

/** What axe-core needs to know about our own rules. */
const ownRules = (locale: Locale): object =>
  Object.fromEntries(
    Object.entries({ ...OWN_RULES, ...STATE_RULES }).map(([id, rule]) => {
      const { help, description } = ruleText(id, locale)!;
      return [id, { ...rule, help, description, message: ownMessage(id, locale) }];
    }),
  );

/** The scripts with checks of our own. */
export const OWN_CHECKS = ['corrected-checks.js', 'orientation.js', 'own-rules.js'];

/** Scripts of ours that run after axe-core, in this order. */
const AFTER_AXE = [
  'visible.js',
  'describe.js',
  'settle.js',
  'scroll.js',
  'blocked.js',
  'facts.js',
  'in-page.js',
  ...OWN_CHECKS,
  'picture.js',
  'states.js',
  'keyboard.js',
  'opened.js',
];

/** Returns scripts of this folder as one. Each has a scope of its own: what it offers to others is a property of `globalThis`. */
export async function scriptsOf(...names: string[]): Promise<string> {
  const texts = await Promise.all(names.map((name) => readFile(join(import.meta.dirname, name), 'utf8')));
  return texts.map((text) => `(() => {'use strict';\n${text}})();`).join('\n');
}

/**
 * Returns the script for a language of findings. Call it only once per scan, because it reads the files of axe-core.
 * @param hasSession whether the scan signs in, or is prepared by steps
 */
export async function axeSource(locale: Locale, { hasSession = false } = {}): Promise<string> {
  const [before, axe, messages, after] = await Promise.all([
    scriptsOf('before-axe.js'),
    readFile(require.resolve('axe-core/axe.min.js'), 'utf8'),
    locale === 'en' ? null : readFile(require.resolve(`axe-core/locales/${locale}.json`), 'utf8'),
    scriptsOf(...AFTER_AXE, ...(hasSession ? ['session.js'] : [])),
  ]);
  const limits = `globalThis.curbcutLimits = ${JSON.stringify(LIMITS)}; globalThis.curbcutOwnRules = ${JSON.stringify(ownRules(locale))};`;
  return [before, axe, messages === null ? '' : `axe.configure({ locale: ${messages} });`, limits, after].join('\n;');
}

/** Returns the script for the page's own world, to be added after the one of `axeSource`. */
export const watchSource = (): Promise<string> => scriptsOf('watch.js');

/** Returns the script that stands in for service workers, for the page's own world. */
export const serviceWorkersSource = (): Promise<string> => scriptsOf('service-workers.js');

/** Options for axe-core. */
export interface AxeOptions {
  runOnly: { type: 'tag' | 'rule'; values: string[] };
  /** Rules that run besides those of the tags. */
  rules: Record<string, { enabled: true }>;
  resultTypes: string[];
  preload: { assets: string[]; timeout: number };
}

/**
 * Options for a conformance target. Its tags contain no best-practice rules; `advice` adds some. Style sheets are not preloaded,
 * because only `css-orientation-lock` reads them, which finds them by itself (orientation.js).
 */
export function axeOptions({ wcagLevel, wcagVersion, advice }: Pick<ScanOptions, 'wcagLevel' | 'wcagVersion' | 'advice'>): AxeOptions {
  return {
    runOnly: { type: 'tag', values: axeTags(wcagLevel, wcagVersion) },
    rules: Object.fromEntries(advice ? [...ADVICE_RULES].map((rule) => [rule, { enabled: true }]) : []),
    resultTypes: ['violations', 'incomplete'],
    preload: { assets: ['media'], timeout: 3000 },
  };
}

/** The script that tests a document, and its arguments. */
export interface AxeScript {
  /** The script for the isolated world, from `axeSource`. Frames in other processes do not get it automatically. */
  source: string;
  options: AxeOptions;
  /** From `htmlTotal`. */
  htmlTotal: number;
  /** Why the egress proxy could not reach the host of a frame. */
  egressFailureOf: (url: URL) => EgressFailure | undefined;
}

/** The isolated world of a frame, in which our scripts run, and the CDP session of the process that owns the frame. */
export interface IsolatedWorld {
  cdp: Cdp;
  contextId: number;
}

/** One of our scripts failed, or its document was replaced. */
export class EvaluationFailed extends Error {
  override readonly name = 'EvaluationFailed';
}

/** Evaluates an expression and returns its value; a promise is awaited. @throws EvaluationFailed */
export async function evaluate<T>(world: IsolatedWorld, expression: string): Promise<T> {
  const { result, exceptionDetails } = await world.cdp
    .send('Runtime.evaluate', { expression, contextId: world.contextId, awaitPromise: true, returnByValue: true })
    .catch(evaluationFailed);
  if (exceptionDetails !== undefined)
    throw new EvaluationFailed(exceptionDetails.exception?.description?.split('\n')[0] ?? exceptionDetails.text);
  return result.value as T;
}

/** Fails as `evaluate` does. @throws EvaluationFailed */
export function evaluationFailed(error: unknown): never {
  throw new EvaluationFailed(errorMessage(error));
}

/** The isolated world of a frame. In the process of the tab it exists since the document was created. */
export async function isolatedWorldOf(cdp: Cdp, frameId: string, worldName = WORLD): Promise<IsolatedWorld> {
  const { executionContextId } = await cdp.send('Page.createIsolatedWorld', { frameId, worldName }).catch(evaluationFailed);
  return { cdp, contextId: executionContextId };
}
