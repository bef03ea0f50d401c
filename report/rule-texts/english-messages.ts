/**
 * Which messages of axe-core are English. Its translations are incomplete: the Dutch one has 3 of 121 checks. Text in another
 * language than its document must be marked, so that screen readers pronounce it correctly (WCAG 3.1.2).
 */
import { createRequire } from 'node:module';

/** A generated file: the first words of each message. */
export interface EnglishMessages {
  source: string;
  starts: string[];
}

/** The shortest start of a message that identifies its language, in characters. */
export const ENGLISH_MIN = 12;

const require = createRequire(import.meta.url);
let starts: readonly string[] | null = null;

/** Whether a text is an English message of axe-core's checks. */
export function isEnglishMessage(text: string): boolean {
  starts ??= (require('./english-messages.json') as EnglishMessages).starts;
  return starts.some((start) => text.startsWith(start));
}
