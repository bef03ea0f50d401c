/**
 * Answers the dialog that asks for consent to cookies, with the rules of autoconsent. Its script runs in the page and its frames
 * for this answer only: the tabs that test pages never contain it.
 */
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import type { Frame, Page } from 'playwright-core';
import { untilAborted, withTimeLimit } from '../../../platform/time-limits.ts';
import { PRODUCT_MAX, type ReportConsent } from '../../../report/schema/report.ts';

export type ConsentAnswer = Pick<ReportConsent, 'outcome' | 'product'>;
type Action = ReportConsent['action'];

/** The time in which a dialog must appear, in milliseconds. */
const APPEAR_MS = 10_000;
/** The time that a dialog may take to be answered, in milliseconds. Some have several steps. */
const ANSWER_MS = 30_000;

/** A rule for one product. */
interface Rule {
  name: string;
  /** The answer leads to another dialog. */
  intermediate?: boolean;
  runContext?: { urlPattern?: string };
}

interface Script {
  source: string;
  rules: readonly Rule[];
}

const require = createRequire(import.meta.url);
let script: Promise<Script> | null = null;

async function readScript(): Promise<Script> {
  const rulesFile = require.resolve('@duckduckgo/autoconsent/rules/rules.json');
  const [source, rules] = await Promise.all([
    readFile(join(rulesFile, '../../dist/autoconsent.playwright.js'), 'utf8'),
    readFile(rulesFile, 'utf8'),
  ]);
  return { source, rules: (JSON.parse(rules) as { autoconsent: Rule[] }).autoconsent };
}

/**
 * Settings of autoconsent. It may only act on dialogs for which there is a rule, and only by answering them: hiding a dialog would
 * not be kept for the other pages. Its own snippets run as functions, so no page's policy forbids them. Without `autoAction` it
 * waits for the order, so that the name of the product is known before the frame of the dialog may be gone.
 */
const SETTINGS = {
  autoAction: null,
  enablePrehide: false,
  enableCosmeticRules: false,
  enableHeuristicDetection: false,
  heuristicMode: 'off',
  isMainWorld: true,
  detectRetries: 100,
  logs: { errors: false },
};

const ORDERS = { reject: 'optOut', accept: 'optIn' } as const;

/** The expression that starts autoconsent in a document, and waits for a dialog. Its value is the product. */
function findIn(url: string, { source, rules }: Script): string {
  const fitting = rules.filter(({ runContext }) => runContext?.urlPattern === undefined || new RegExp(runContext.urlPattern).test(url));
  return `(() => {
    if (globalThis.autoconsentReceiveMessage !== undefined) return;
    return new Promise((found) => {
      globalThis.autoconsentSendMessage = async ({ type, cmp, result }) => {
        if (type === 'popupFound') found(cmp);
        if (type === 'optOutResult' || type === 'optInResult') globalThis.curbcutConsented = result;
      };
      ${source};
      globalThis.autoconsentReceiveMessage({
        type: 'initResp',
        config: ${JSON.stringify(SETTINGS)},
        rules: { autoconsent: ${JSON.stringify(fitting)} },
      });
    });
  })()`;
}

/** The expression that answers the dialog. Its value is whether the dialog reacted. */
const answerIn = (action: Action): string =>
  `globalThis.autoconsentReceiveMessage({ type: '${ORDERS[action]}' }).then(() => globalThis.curbcutConsented === true)`;

/** What autoconsent finds in a page and its frames. */
interface Watched {
  /** The product of the first dialog that appears. */
  found: Promise<string>;
  /** Whether the dialog was answered. */
  answered: Promise<boolean>;
  stop(): void;
}

/** @param action null: only find the dialog */
async function watch(page: Page, action: Action | null): Promise<Watched> {
  script ??= readScript();
  const loaded = await script;
  const found = Promise.withResolvers<string>();
  const answered = Promise.withResolvers<boolean>();
  let stopped = false;

  async function follow(frame: Frame): Promise<void> {
    const product = String((await frame.evaluate<unknown>(findIn(frame.url(), loaded))) ?? '').slice(0, PRODUCT_MAX);
    if (stopped || product === '') return;
    found.resolve(product);
    if (action === null) return;
    // The answer often removes the frame of the dialog, or loads the page again.
    const reacted = await frame.evaluate<boolean>(answerIn(action)).catch(() => true);
    const isIntermediate = loaded.rules.some(({ name, intermediate }) => name === product && intermediate === true);
    if (!reacted || !isIntermediate) answered.resolve(reacted);
  }
  // The document of a frame may be replaced at any time; the next one is followed then.
  const start = (frame: Frame): void => void follow(frame).catch(() => undefined);
  page.on('framenavigated', start);
  for (const frame of page.frames()) start(frame);
  return {
    found: found.promise,
    answered: answered.promise,
    stop() {
      stopped = true;
      page.off('framenavigated', start);
    },
  };
}

/** Resolves to null if the promise takes longer. @throws the reason of the signal if it aborts */
const within = <T>(promise: Promise<T>, ms: number, over: AbortSignal): Promise<T | null> =>
  untilAborted(
    withTimeLimit(promise, ms, 'a dialog').catch(() => null),
    over,
  );

/**
 * Answers the dialog of the displayed page.
 * @param over aborted when the time of the scan is over
 */
export async function answerConsent(page: Page, action: Action, over: AbortSignal): Promise<ConsentAnswer> {
  const watched = await watch(page, action);
  try {
    const product = await within(watched.found, APPEAR_MS, over);
    if (product === null) return { outcome: 'not_found', product };
    return { outcome: (await within(watched.answered, ANSWER_MS, over)) === true ? 'answered' : 'failed', product };
  } finally {
    watched.stop();
  }
}

/** Whether a dialog is there on a page that was loaded again after the answer. */
export async function asksAgain(page: Page, over: AbortSignal): Promise<boolean> {
  const watched = await watch(page, null);
  try {
    return (await within(watched.found, APPEAR_MS / 2, over)) !== null;
  } finally {
    watched.stop();
  }
}
