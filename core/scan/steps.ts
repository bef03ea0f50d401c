/**
 * Steps in the browser: those of a sign-in (`spec.auth.steps`), and those that prepare a scan (`spec.crawl.prepare`). They
 * differ only in where `fill` takes its value from.
 */
import { type Static, type TSchema, Type } from 'typebox';
import { fromSnakeKeys, snakeKeys, type SnakeKeys } from '../schemas.ts';
import { movedWithin } from './site.ts';
import { URL_MAX_LENGTH } from './targets.ts';

/** An object with exactly one of its fields. */
const exactlyOne = { additionalProperties: false, minProperties: 1, maxProperties: 1 } as const;

export const selector = (description: string) => Type.String({ minLength: 1, maxLength: 512, description });

/** The schema of a step. @param fill the value of `fill` */
export const stepOf = <Fill extends TSchema>(fill: Fill) =>
  Type.Object(
    {
      goto: Type.Optional(
        Type.String({
          minLength: 1,
          maxLength: URL_MAX_LENGTH,
          description: 'Open a page: a path on the site, or an absolute URL.',
        }),
      ),
      fill: Type.Optional(fill),
      click: Type.Optional(selector('Click the first visible element that this CSS selector matches.')),
      waitFor: Type.Optional(selector('Wait until an element that this CSS selector matches is visible, for at most 15 seconds.')),
      assert: Type.Optional(
        Type.Object(
          {
            selector: Type.Optional(selector('A CSS selector of a visible element.')),
            text: Type.Optional(Type.String({ minLength: 1, maxLength: 512, description: 'A visible text.' })),
          },
          { ...exactlyOne, description: 'End the scan unless the page shows this. Set selector or text.' },
        ),
      ),
    },
    exactlyOne,
  );

/** The maximum number of steps that prepare a scan. */
export const PREPARE_MAX = 10;

export const PrepareStep = stepOf(
  Type.Object(
    {
      selector: selector('A CSS selector of the field.'),
      value: Type.String({ maxLength: 1024, description: 'The text. It is not secret: reports contain it.' }),
    },
    { additionalProperties: false, description: 'Type a text into a field.' },
  ),
);
export type PrepareStep = Static<typeof PrepareStep>;

export type StepKind = keyof PrepareStep;
export const STEP_KINDS = Object.keys(PrepareStep.properties) as StepKind[];

/** A step of either kind. */
export type Step = Omit<PrepareStep, 'fill'> & { fill?: { selector: string } & ({ value: string } | { secretKey: string }) };

/** A step that prepares a scan, as the HTTP API and the JSON export write it. */
export const SnakeStep = Type.Object(snakeKeys(PrepareStep.properties), exactlyOne);
type SnakeStep = Static<typeof SnakeStep>;

export const toSnakeStep = (step: PrepareStep): SnakeKeys<PrepareStep> => snakeKeys(step);
export const fromSnakeStep = (step: SnakeStep): PrepareStep => fromSnakeKeys(step, STEP_KINDS);

/** Returns the kind of a step. @throws TypeError if it has none or several, which the schemas refuse */
export function kindOfStep(step: Step): StepKind {
  const [kind, another] = Object.keys(step) as StepKind[];
  if (kind === undefined || another !== undefined) throw new TypeError(`Each step must have exactly one of ${STEP_KINDS.join(', ')}.`);
  return kind;
}

/** Describes a step in one line; a secret by the name of its key. */
export function describeStep(step: Step): string {
  switch (kindOfStep(step)) {
    case 'goto':
      return `goto ${step.goto}`;
    case 'fill':
      return step.fill === undefined ? 'fill' : describeFill(step.fill);
    case 'click':
      return `click ${step.click}`;
    case 'waitFor':
      return `waitFor ${step.waitFor}`;
    case 'assert':
      return `assert ${describeMarker(step.assert ?? {})}`;
  }
}

const describeFill = (fill: NonNullable<Step['fill']>): string =>
  'value' in fill ? `fill ${fill.selector} with "${fill.value}"` : `fill ${fill.selector} from the key ${fill.secretKey}`;

/** Describes what a page must show, in a few words. */
export function describeMarker({ selector: css, text }: { selector?: string; text?: string }): string {
  return css !== undefined ? `the element ${css}` : `the text "${text}"`;
}

/** A step that cannot be run, by its index in the list. */
export interface StepMistake {
  index: number;
  /** A sentence. */
  message: string;
}

/** Returns the first step that leaves the site of a scan; null if none does. @param start the valid URL of the scan */
export function prepareMistake(steps: readonly PrepareStep[], start: URL): StepMistake | null {
  for (const [index, { goto }] of steps.entries()) {
    if (goto === undefined) continue;
    const url = URL.parse(goto, start.href);
    if (url === null || !['http:', 'https:'].includes(url.protocol) || url.username !== '' || url.password !== '')
      return { index, message: `goto ${goto} must be a path of the site, or an http or https URL without a user name.` };
    if (!movedWithin(start, url)) return { index, message: `goto ${goto} leaves the site of the scan, ${start.host}.` };
  }
  return null;
}
