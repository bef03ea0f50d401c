/** Annotations of a job on GitHub: workflow commands, which a step prints. Pure. */
import type { Report } from '../schema/schema.ts';
import { elementPath } from '../view/element-path.ts';
import { causesOf } from './causes.ts';

/** GitHub shows 10 errors of a step. */
const ANNOTATIONS_MAX = 10;
/** In characters. */
const TEXT_MAX = 500;

/** A line for each root cause that the comment would describe, worst first. */
export function annotationsOf(report: Report): string {
  return causesOf(report)
    .slice(0, ANNOTATIONS_MAX)
    .map(({ rule, help, examples }) => {
      const places = examples.slice(0, 3).map((example) => `${example.page} ${elementPath(example)}`);
      return `::error title=${property(`${rule}: ${help}`)}::${data(places.join('\n'))}\n`;
    })
    .join('');
}

/** Control characters could end the line and begin another command. */
const cut = (text: string): string => text.toWellFormed().slice(0, TEXT_MAX).toWellFormed();
const data = (text: string): string =>
  cut(text)
    .replaceAll('%', '%25')
    .replaceAll('\r', '%0D')
    .replaceAll('\n', '%0A')
    .replace(/[\p{Cc}\p{Zl}\p{Zp}]/gu, ' ');
const property = (text: string): string => data(text).replaceAll(':', '%3A').replaceAll(',', '%2C');
