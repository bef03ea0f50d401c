/**
 * Opens parts of a page by keyboard, such as menus, tabs and dialogs, and tests what appears. The tab is sealed before the first key, and
 * must not be used again: neither what a script stored nor what stayed open may have an effect on other pages.
 */
import { TimeLimitExceeded } from '../../../platform/time-limits.ts';
import { type PageState, type ReportViolation, UNOPENED_REASONS, type UnopenedReason } from '../../../report/schema/page.ts';
import { wordsIn } from '../../../report/words/words.ts';
import { destructiveWordsOf } from '../../crawl/destructive.ts';
import { type AxeResults, toPageFindings } from '../axe/results.ts';
import { evaluate, EvaluationFailed, evaluationFailed } from '../scripts/source.ts';
import { takePictures } from './pictures.ts';
import { sealTab } from './seal.ts';
import { ELEMENTS_MAX, type Found, knownOf, onlyNew, SETTLE, type StateRules, type StatesTab, type TestedPage } from './states.ts';
import type { OpenedPart, OpenedParts, VisitedStates } from './visit.ts';

/** A control that says that it opens something. */
export interface Trigger {
  name: string;
  /** Equal for controls that look the same. */
  shape: string;
  selector: string;
  /** Whether it may do more, by what it is and where. */
  acts: boolean;
  kind: 'menu' | 'dialog' | 'tab' | 'part';
  keys: ('Enter' | 'Space' | 'ArrowDown')[];
}

const TRIGGERS_MAX = 8;
const SHAPE_MAX = 3;
/** The time of all parts of a page, in milliseconds. Their number keeps pages within it, unless the machine stands still. */
const OPENED_MS = 6000;
const SETTLED = `curbcut.settle(${SETTLE}).then(() => curbcut.still(500))`;

/** Returns why a control is not opened at all, before any is; null for those that are opened. */
export function triageTriggers(triggers: readonly Trigger[]): ('acts' | 'limit' | null)[] {
  const shapes = new Map<string, number>();
  let left = TRIGGERS_MAX;
  return triggers.map(({ acts, name, shape }) => {
    if (acts || destructiveWordsOf({ pathname: `/${encodeURIComponent(name)}`, search: '', hash: '' }).length > 0) return 'acts';
    const same = shapes.get(shape) ?? 0;
    shapes.set(shape, same + 1);
    return same >= SHAPE_MAX || left-- <= 0 ? 'limit' : null;
  });
}

/** What opening needs of a page. */
interface OpenedPage extends TestedPage {
  /** Whether its tab still shows it as it was. */
  usable: boolean;
  /** Whether it keeps a connection open, or has a worker: what it is told there is not seen. */
  connected: boolean;
  /** Whether an earlier page of its template had the same part, as far as it is known. */
  knowsPart: (signature: string) => boolean;
}

/** Adds what opens to what was found in the other states. @returns whether the tab must not be used again */
export async function testOpened(tab: StatesTab, rules: StateRules, page: OpenedPage, found: VisitedStates): Promise<boolean> {
  const { frame, target } = tab;
  const { world, facts, clock } = page;
  const end = (result: PageState['result'], reason?: PageState['reason'], isUsed = false): boolean => {
    const why = reason ?? (facts.frames.length > 0 ? 'frames' : undefined);
    found.states.push({ kind: 'opened', result, ...(why && { reason: why }) });
    return isUsed;
  };
  if (facts.elements > ELEMENTS_MAX) return end('skipped', 'large');
  if (!page.usable) return end('skipped', 'failed');
  if (page.connected || target.page.workers().length > 0) return end('skipped', 'connected');
  try {
    const triggers = JSON.parse(
      await frame.whileAlive(evaluate<string>(world, 'curbcut.findTriggers()'), clock.left(), 'opening'),
    ) as Trigger[];
    if (triggers.length === 0) return end('nothing');
    // A frame may be removed meanwhile.
    if (!(await frame.whileAlive(sealTab(tab).catch(evaluationFailed), clock.left(), 'sealing the tab')))
      return end('skipped', 'failed', true);
    found.opened = await openAll(tab, rules, page, triggers);
    return true;
  } catch (error) {
    if (!(error instanceof TimeLimitExceeded || error instanceof EvaluationFailed) && frame.lost() === null) throw error;
    return end('skipped', error instanceof TimeLimitExceeded ? 'time' : 'failed', true);
  }
}

async function openAll(tab: StatesTab, rules: StateRules, page: OpenedPage, triggers: readonly Trigger[]): Promise<OpenedParts> {
  const { world, clock } = page;
  const began = clock.spent();
  const left = (): number => Math.min(OPENED_MS - clock.spent() + began, clock.left());
  const within = <T>(promise: Promise<T>): Promise<T> => tab.frame.whileAlive(promise, clock.left(), 'opening a part');
  const opened: OpenedParts = { parts: [], unopened: {}, leavesFrames: page.facts.frames.length > 0 };
  let isStuck = false;
  /** What could not be closed again. */
  const stillOpen: { click: string }[] = [];
  for (const [at, triaged] of triageTriggers(triggers).entries()) {
    const trigger = triggers[at]!;
    const reason = triaged ?? (isStuck ? 'stuck' : left() <= 0 ? 'time' : null);
    const shown = reason === null ? await within(open(tab, page, at, trigger)) : null;
    if (shown === null) {
      countUnopened(opened, reason ?? 'nothing');
      continue;
    }
    const click = { click: trigger.selector };
    const signature = [trigger.shape, trigger.name, shown.content].join('\n');
    opened.parts.push({
      signature,
      state: { kind: 'opened', label: labelOf(rules, trigger, shown.key), steps: [...stillOpen, click] },
      ...(page.knowsPart(signature) ? { found: null, pictures: [] } : await testPart(tab, page)),
    });
    if (await within(close(tab, page, at, shown.key))) continue;
    stillOpen.push(click);
    isStuck = await within(evaluate<boolean>(world, 'curbcut.hasModal()'));
  }
  return opened;
}

function countUnopened({ unopened }: Pick<OpenedParts, 'unopened'>, reason: UnopenedReason): void {
  unopened[reason] = (unopened[reason] ?? 0) + 1;
}

/**
 * Adds what was opened on a page to what was found in its other states, once for each signature. Call it in the order of the pages, so
 * that what it returns does not depend on the number of workers. What was tested in vain is not taken.
 * @param known the signatures of earlier pages of the template; those of the page are added
 */
export function takeOpened(visited: VisitedStates, atRest: Found, counted: boolean, known: Set<string>): VisitedStates {
  if (visited.opened === undefined) return visited;
  const taken = { ...visited, alsoIn: new Map(visited.alsoIn) };
  const before = (list: 'violations' | 'needsReview'): ReportViolation[] => [...atRest[list], ...visited[list]];
  const keys = knownOf({ violations: before('violations'), needsReview: before('needsReview') }, counted);
  const { parts, leavesFrames } = visited.opened;
  const unopened = { ...visited.opened.unopened };
  let opened = 0;
  for (const { signature, state, found, pictures } of parts) {
    if (known.has(signature) || found === null) countUnopened({ unopened }, 'same');
    else {
      opened += 1;
      onlyNew(found, state, keys, taken);
      visited.pictures.push(...pictures);
    }
  }
  for (const { signature } of parts) known.add(signature);
  const reasons = UNOPENED_REASONS.flatMap((reason) => (unopened[reason] === undefined ? [] : [{ reason, count: unopened[reason] }]));
  const state: PageState = {
    kind: 'opened',
    result: parts.length > 0 ? 'tested' : 'nothing',
    ...(leavesFrames && { reason: 'frames' as const }),
    ...(opened > 0 && { opened }),
    ...(reasons.length > 0 && { unopened: reasons }),
  };
  return { ...taken, states: [...visited.states, state] };
}

/** Presses keys on a control until something appears. @returns the key, and the names of the elements; null if nothing appears */
async function open(
  { target }: StatesTab,
  { world }: OpenedPage,
  at: number,
  { keys }: Trigger,
): Promise<{ key: Trigger['keys'][0]; content: string } | null> {
  await evaluate(world, 'curbcut.rememberShown()');
  for (const key of keys) {
    if (!(await evaluate<boolean>(world, `curbcut.focusTrigger(${at})`))) return null;
    await target.page.keyboard.press(key);
    const content = await evaluate<string | null>(world, `${SETTLED}.then(curbcut.appeared)`);
    if (content !== null) return { key, content };
  }
  return null;
}

/** @returns whether the page shows what it showed before */
async function close({ target }: StatesTab, { world }: OpenedPage, at: number, key: string): Promise<boolean> {
  const isClosed = (): Promise<boolean> => evaluate<boolean>(world, `${SETTLED}.then(curbcut.isClosed)`);
  await target.page.keyboard.press('Escape');
  if (await isClosed()) return true;
  if (!(await evaluate<boolean>(world, `curbcut.focusTrigger(${at})`))) return false;
  await target.page.keyboard.press(key);
  return isClosed();
}

/** Tests what has appeared, and takes its pictures. */
async function testPart({ deps, frame }: StatesTab, page: OpenedPage): Promise<Pick<OpenedPart, 'found' | 'pictures'>> {
  const { world, facts, clock } = page;
  // Frames in it have documents of their own.
  const options = JSON.stringify({ ...deps.options, iframes: false });
  const testing = evaluate<string>(world, `curbcut.testAppeared(${options}, ${deps.htmlTotal})`);
  const results = JSON.parse(await frame.whileAlive(testing, clock.left(), 'testing what opened')) as AxeResults;
  const { violations, needsReview } = toPageFindings(results);
  const found = deps.redact?.({ violations, needsReview }) ?? { violations, needsReview };
  const { pictures } = await takePictures(deps.pictures, { url: null, world, findings: found, size: facts.size, clock });
  // The page at rest does not show it where it is now.
  for (const { nodes } of [...found.violations, ...found.needsReview]) for (const node of nodes) node.box = null;
  await frame.whileAlive(evaluate(world, 'curbcut.clean()'), clock.left(), 'testing what opened');
  return { found, pictures };
}

function labelOf({ locale }: StateRules, { kind, name, selector }: Trigger, key: Trigger['keys'][0]): string {
  const { texts, format } = wordsIn(locale, 'findings');
  return format(texts.opened[kind], { name: name || selector, key: texts.keys[key] });
}
