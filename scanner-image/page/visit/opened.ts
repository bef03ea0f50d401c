/**
 * Opens parts of a page by keyboard, such as menus, tabs and dialogs, and tests what appears. The tab is sealed before the first key, and
 * must not be used again: neither what a script stored nor what stayed open may have an effect on other pages.
 */
import { TimeLimitExceeded, withTimeLimit } from '../../../platform/time-limits.ts';
import { UNOPENED_REASONS, type PageState, type UnopenedReason } from '../../../report/schema/page.ts';
import { wordsIn } from '../../../report/words/words.ts';
import { destructiveWordsOf } from '../../crawl/destructive.ts';
import { type AxeResults, toPageFindings } from '../axe/results.ts';
import { evaluate, EvaluationFailed } from '../scripts/source.ts';
import { takePictures } from './pictures.ts';
import { sealTab } from './seal.ts';
import { ELEMENTS_MAX, knownOf, onlyNew, SETTLE, type StateRules, type StatesTab, type TestedPage } from './states.ts';
import type { VisitedStates } from './visit.ts';

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
}

/** Adds what opens to what was found in the other states. @returns whether the tab must not be used again */
export async function testOpened(tab: StatesTab, rules: StateRules, page: OpenedPage, found: VisitedStates): Promise<boolean> {
  const { frame, target } = tab;
  const { world, facts, clock } = page;
  const end = (state: Omit<PageState, 'kind'>): unknown => found.states.push({ kind: 'opened', ...state });
  const skip = (reason: PageState['reason']): unknown => end({ result: 'skipped', reason });
  if (facts.elements > ELEMENTS_MAX) skip('large');
  else if (!page.usable) skip('failed');
  else if (page.connected || target.page.workers().length > 0) skip('connected');
  else {
    const before = { violations: found.violations, needsReview: found.needsReview, pictures: found.pictures.length };
    let isSealed = false;
    try {
      const triggers = JSON.parse(
        await frame.whileAlive(evaluate<string>(world, 'curbcut.findTriggers()'), clock.left(), 'opening'),
      ) as Trigger[];
      if (triggers.length === 0) end({ result: 'nothing' });
      else {
        isSealed = true;
        if (await frame.whileAlive(sealTab(tab), clock.left(), 'sealing the tab'))
          end(await openAll(tab, rules, { page, triggers }, found));
        else skip('failed');
      }
    } catch (error) {
      if (!(error instanceof TimeLimitExceeded || error instanceof EvaluationFailed) && frame.lost() === null) throw error;
      Object.assign(found, { violations: before.violations, needsReview: before.needsReview });
      found.pictures.length = before.pictures;
      skip(error instanceof TimeLimitExceeded ? 'time' : 'failed');
      return true;
    }
    return isSealed;
  }
  return false;
}

async function openAll(
  tab: StatesTab,
  rules: StateRules,
  { page, triggers }: { page: OpenedPage; triggers: readonly Trigger[] },
  found: VisitedStates,
): Promise<Omit<PageState, 'kind'>> {
  const { world, clock } = page;
  const began = clock.spent();
  const known = knownOf(
    {
      violations: [...page.findings.violations, ...found.violations],
      needsReview: [...page.findings.needsReview, ...found.needsReview],
    },
    rules.counted,
  );
  const left = (): number => Math.min(OPENED_MS - clock.spent() + began, clock.left());
  const within = <T>(promise: Promise<T>): Promise<T> => tab.frame.whileAlive(promise, clock.left(), 'opening a part');
  const unopened: Partial<Record<UnopenedReason, number>> = {};
  let opened = 0;
  let isStuck = false;
  /** What could not be closed again. */
  const stillOpen: { click: string }[] = [];
  for (const [at, triaged] of triageTriggers(triggers).entries()) {
    const trigger = triggers[at]!;
    const reason = triaged ?? (isStuck ? 'stuck' : left() <= 0 ? 'time' : null);
    const key = reason === null ? await within(open(tab, page, at, trigger)) : null;
    if (key === null) {
      const why = reason ?? 'nothing';
      unopened[why] = (unopened[why] ?? 0) + 1;
      continue;
    }
    opened += 1;
    const steps = [...stillOpen, { click: trigger.selector }];
    await testPart(tab, { page, state: { kind: 'opened', label: labelOf(rules, trigger, key), steps } }, { known, found });
    if (await within(close(tab, page, at, key))) continue;
    stillOpen.push({ click: trigger.selector });
    isStuck = await within(evaluate<boolean>(world, 'curbcut.hasModal()'));
  }
  const reasons = UNOPENED_REASONS.flatMap((reason) => (unopened[reason] === undefined ? [] : [{ reason, count: unopened[reason] }]));
  return {
    result: opened > 0 ? 'tested' : 'nothing',
    ...(opened > 0 && { opened }),
    ...(reasons.length > 0 && { unopened: reasons }),
  };
}

/** Presses keys on a control until something appears. @returns the key; null if nothing appears */
async function open({ target }: StatesTab, { world }: OpenedPage, at: number, { keys }: Trigger): Promise<Trigger['keys'][0] | null> {
  await evaluate(world, 'curbcut.rememberShown()');
  for (const key of keys) {
    if (!(await evaluate<boolean>(world, `curbcut.focusTrigger(${at})`))) return null;
    await target.page.keyboard.press(key);
    if (await evaluate<boolean>(world, `${SETTLED}.then(curbcut.appeared)`)) return key;
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
async function testPart(
  { deps, frame }: StatesTab,
  { page, state }: { page: OpenedPage; state: Parameters<typeof onlyNew>[1] },
  { known, found }: { known: Parameters<typeof onlyNew>[2]; found: VisitedStates },
): Promise<void> {
  const { world, facts, clock } = page;
  // Frames in it have documents of their own.
  const options = JSON.stringify({ ...deps.options, iframes: false });
  const testing = evaluate<string>(world, `curbcut.testAppeared(${options}, ${deps.htmlTotal})`);
  const results = JSON.parse(await frame.whileAlive(testing, clock.left(), 'testing what opened')) as AxeResults;
  const { violations, needsReview } = toPageFindings(results);
  const added = onlyNew(deps.redact?.({ violations, needsReview }) ?? { violations, needsReview }, state, known, found);
  const taken = await takePictures(deps.pictures, { url: null, world, findings: added, size: facts.size, clock });
  found.pictures.push(...taken.pictures);
  // Where it is in the page at rest, nothing is shown.
  for (const { nodes } of [...added.violations, ...added.needsReview]) for (const node of nodes) node.box = null;
  await withTimeLimit(evaluate(world, 'curbcut.clean()'), clock.left(), 'testing what opened');
}

function labelOf({ locale }: StateRules, { kind, name, selector }: Trigger, key: Trigger['keys'][0]): string {
  const { texts, format } = wordsIn(locale, 'findings');
  return format(texts.opened[kind], { name: name || selector, key: texts.keys[key] });
}
