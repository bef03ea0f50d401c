/**
 * Tests a page in states besides the one at rest, in the tab in which it was tested. Nothing is activated. What was found at rest is not
 * found again, and afterwards the page is as it was.
 */
import type { Locale } from '../../../core/scan/locales.ts';
import type { StateKind } from '../../../core/scan/states.ts';
import { IMPACTS } from '../../../core/scan/impacts.ts';
import { TimeLimitExceeded, withTimeLimit } from '../../../platform/time-limits.ts';
import { STATE_RULES } from '../../../report/schema/engines.ts';
import { elementPath, type FoundInState, type PageState, type ReportNode, type ReportViolation } from '../../../report/schema/page.ts';
import { wordsIn } from '../../../report/words/words.ts';
import { readsDark } from '../axe/hidden-content.ts';
import { type AxeResults, type AxeRule, bySeverity, type PageFindings, tallyOf, toPageFindings } from '../axe/results.ts';
import { testDocument } from '../axe/test-document.ts';
import type { Target } from '../browser/target.ts';
import { type AxeScript, evaluate, EvaluationFailed, type IsolatedWorld } from '../scripts/source.ts';
import { type PictureBudget, takePictures } from './pictures.ts';
import type { ArrivalDeps } from './settling.ts';
import type { PageFacts, VisitClock, VisitedStates } from './visit.ts';

/** The states that a scan tests, whether violations in them count, and the language of their labels. */
export interface StateRules {
  kinds: readonly StateKind[];
  counted: boolean;
  locale: Locale;
}

/** A page with more elements is not tested in states. */
export const ELEMENTS_MAX = 5000;
/** The time of all states without `opened`, in milliseconds. The limits in numbers keep pages within it, unless the machine stands still. */
const STATES_MS = 6000;
/** The time limit for going back to the state at rest, in milliseconds. */
const RESTORE_MS = 2000;
const STILL = 'curbcut.still(500)';

export interface StatesTab extends ArrivalDeps {
  deps: AxeScript & { pictures: PictureBudget | null; redact?: <T>(findings: T) => T };
  target: Target;
}

/** Whether the target of the scan includes a rule. */
const isWanted = ({ options }: AxeScript, { tags }: { tags: readonly string[] }): boolean =>
  options.runOnly.values.some((tag) => tags.includes(tag));

export interface TestedPage {
  world: IsolatedWorld;
  findings: PageFindings;
  facts: PageFacts;
  clock: VisitClock;
}

/** A finding may have a state already, with the steps that lead to it. */
export type Found = Pick<PageFindings, 'violations' | 'needsReview'> & {
  /** The number of controls that were left because of a limit. */
  left?: number;
};

/** Findings by rule and path. */
type Known = Record<'violations' | 'needsReview', Set<string>>;

interface State {
  /** The tag of axe-core for the level of its criterion. Scans of a lower one do not test it. */
  tag: string;
  /** Goes into the state, and returns what is found there. Null: the page has nothing to test. */
  test(tab: StatesTab, page: TestedPage): Promise<Found | null>;
  restore(tab: StatesTab, page: TestedPage): Promise<unknown>;
  steps: FoundInState['steps'];
  /** Rules of ours that run in it, and whether they can fail. The others find only what needs review. */
  rules: Readonly<Record<string, boolean>>;
  /** Whether the frames of the page are tested in it too. */
  frames: boolean;
}

/** The window of WCAG 1.4.10: one of 1280 × 1024 in which the page is enlarged to 400 %. */
const NARROW = { width: 320, height: 256 };
/** How long a page gets to arrange itself, in milliseconds. */
export const SETTLE = JSON.stringify({ quietMs: 100, capMs: 1000 });

/** Findings of a script in the page. Only rules of the target count. */
async function foundBy({ deps }: StatesTab, { world }: TestedPage, script: 'reflow' | 'spacing'): Promise<Found> {
  await evaluate(world, `curbcut.settle(${SETTLE}).then(() => curbcut.still(500))`);
  const results = JSON.parse(await evaluate<string>(world, `curbcut.${script}(${deps.htmlTotal})`)) as Pick<
    AxeResults,
    'violations' | 'incomplete'
  >;
  return toPageFindings({ ...results, passes: [], inapplicable: [], failed: [] });
}

/** `opened.ts` has the state in which parts of the page are opened. */
const STATES: Readonly<Record<Exclude<StateKind, 'opened'>, State>> = {
  dark: {
    tag: 'wcag2aa',
    async test({ target, deps, traffic }, { world, facts, clock }) {
      const { sheetText } = traffic.requests;
      if (!(await evaluate<boolean>(world, 'curbcut.hasDark()')) && !(await readsDark(facts.foreignSheets, sheetText))) return null;
      await target.page.emulateMedia({ colorScheme: 'dark' });
      await evaluate(world, `curbcut.paintCanvas(), ${STILL}`);
      const options = { ...deps.options, runOnly: { type: 'rule' as const, values: ['color-contrast'] }, rules: {} };
      const { results } = await testDocument(target, world, { ...deps, options }, { msLeft: clock.left, sheetText });
      // What cannot be decided in the dark cannot be decided at rest either.
      return { violations: toPageFindings(results).violations, needsReview: [] };
    },
    restore: ({ target }, { world }) =>
      Promise.all([target.page.emulateMedia({ colorScheme: 'light' }), evaluate(world, 'curbcut.undress()')]),
    steps: [{ color_scheme: 'dark' }],
    rules: {},
    frames: true,
  },
  reflow: {
    tag: 'wcag21aa',
    async test(tab, page) {
      await evaluate(page.world, 'curbcut.rememberCuts()');
      await tab.target.resize(NARROW);
      return foundBy(tab, page, 'reflow');
    },
    restore: ({ target }) => target.resize(),
    steps: [{ viewport: `${NARROW.width}x${NARROW.height}` }],
    rules: { reflow: true, 'text-cut': false },
    frames: false,
  },
  spacing: {
    tag: 'wcag21aa',
    async test(tab, page) {
      await evaluate(page.world, 'curbcut.rememberCuts(), curbcut.space()');
      return foundBy(tab, page, 'spacing');
    },
    restore: (_tab, { world }) => evaluate(world, 'curbcut.undress()'),
    steps: [{ text_spacing: 'WCAG 1.4.12' }],
    rules: { 'text-spacing': false },
    frames: false,
  },
  keyboard: {
    tag: 'wcag2a',
    async test({ target, deps }, { world }) {
      const next = (): Promise<string | null> => evaluate(world, `curbcut.nextKey(${target.windows()})`);
      for (let key = await next(); key !== null; key = await next()) if (key !== '') await target.page.keyboard.press(key);
      const { violations, incomplete, times, stops, left } = JSON.parse(
        await evaluate<string>(world, `curbcut.walked(${deps.htmlTotal})`),
      ) as Walked;
      if (stops === 0) return null;
      const wanted = (list: AxeRule[]): AxeRule[] => list.filter((rule) => isWanted(deps, rule));
      const lists = { violations: wanted(violations), incomplete: wanted(incomplete) };
      const found = toPageFindings({ ...lists, passes: [], inapplicable: [], failed: [] });
      for (const { nodes } of [...found.violations, ...found.needsReview])
        for (const node of nodes) {
          const presses = times[elementPath(node)];
          node.state = { kind: 'keyboard', label: '', steps: [{ press: 'Tab', ...(presses && { times: presses }) }] };
        }
      return { ...found, left };
    },
    restore: (_tab, { world }) => evaluate(world, 'curbcut.endWalk()'),
    steps: [{ press: 'Tab' }],
    // Without those that need a complete walk, or a skip link.
    rules: { 'keyboard-trap': false, 'focus-not-visible': false, 'focus-on-hidden': true, 'focus-obscured': false, 'focus-moves': true },
    frames: false,
  },
};

/** What a walk with the keyboard found. */
interface Walked extends Pick<AxeResults, 'violations' | 'incomplete'> {
  /** How often Tab is pressed up to an element, by its path. Null: only Shift+Tab gets there. */
  times: Record<string, number | null>;
  stops: number;
  left: number;
}

/** Tests a page in each state. @returns `broken`: the tab may be busy, or show another page, and must not be used again */
export async function testStates(
  tab: StatesTab,
  { kinds, counted, locale }: StateRules,
  page: TestedPage,
): Promise<{ found: VisitedStates; broken: boolean }> {
  const { frame, deps } = tab;
  const { world, facts, findings, clock } = page;
  const found: VisitedStates = { states: [], violations: [], needsReview: [], passes: [], alsoIn: new Map(), pictures: [] };
  const known = knownOf(findings, counted);
  const { documents } = frame.shown;
  const began = clock.spent();
  let broken = false;
  const passive = kinds.filter((kind) => kind !== 'opened');
  for (const kind of passive.filter((one) => deps.options.runOnly.values.includes(STATES[one].tag))) {
    const skip = (reason: PageState['reason']): unknown => found.states.push({ kind, result: 'skipped', reason });
    const leftMs = Math.min(STATES_MS - clock.spent() + began, clock.left());
    if (facts.elements > ELEMENTS_MAX) skip('large');
    else if (broken) skip('failed');
    else if (leftMs <= 0) skip('time');
    else {
      const state = STATES[kind];
      try {
        const testing = withTimeLimit(state.test(tab, page), leftMs, 'testing a state');
        const tested = await frame.whileAlive(testing, clock.left(), 'testing a state');
        const left = tested?.left ?? 0;
        const leavesFrames = facts.frames.length > 0 && !(state.frames && tested !== null);
        found.states.push({
          kind,
          result: tested === null ? 'nothing' : 'tested',
          ...(leavesFrames && { reason: 'frames' as const }),
          ...(left > 0 && { left }),
        });
        let added: Found = { violations: [], needsReview: [] };
        if (tested !== null) {
          for (const [id, fails] of Object.entries(state.rules)) {
            const { impact, tags } = STATE_RULES[id]!;
            if (isWanted(deps, { tags })) found.passes.push({ id, impact: fails ? impact : null });
          }
          added = onlyNew(
            deps.redact?.(tested) ?? tested,
            { kind, label: wordsIn(locale, 'findings').texts.pageStates[kind], steps: state.steps },
            known,
            found,
          );
          const taken = await takePictures(deps.pictures, { url: null, world, findings: added, size: facts.size, clock });
          found.pictures.push(...taken.pictures);
          broken ||= taken.stopped;
          await evaluate(world, 'curbcut.clean()');
        }
        await withTimeLimit(state.restore(tab, page), RESTORE_MS, 'leaving a state');
        const atRest = evaluate(world, `curbcut.settle(${SETTLE}).then(() => ${STILL}).then(curbcut.foundBoxes)`);
        placeAtRest(added, JSON.parse(await withTimeLimit(atRest as Promise<string>, RESTORE_MS, 'leaving a state')));
      } catch (error) {
        if (!(error instanceof TimeLimitExceeded || error instanceof EvaluationFailed) && frame.lost() === null) throw error;
        found.states = found.states.filter((one) => one.kind !== kind);
        skip(error instanceof TimeLimitExceeded ? 'time' : 'failed');
        broken = true;
      }
      broken ||= frame.shown.documents !== documents;
    }
  }
  return { found, broken };
}

/** What is known of a page before its states, by rule and path. */
export function knownOf(findings: Found, counted: boolean): Known {
  const all = new Set([...keysOf(findings.violations), ...keysOf(findings.needsReview)]);
  // What needs review at rest can fail in a state. If that does not count, it would need review twice.
  return { violations: counted ? new Set(keysOf(findings.violations)) : all, needsReview: all };
}

/** Gives the findings of a script in the page the places of their elements at rest, which reports show. */
function placeAtRest(added: Found, boxes: readonly [path: string, box: ReportNode['box']][]): void {
  const byPath = new Map(boxes);
  for (const { nodes } of [...added.violations, ...added.needsReview])
    for (const node of nodes) if (byPath.has(elementPath(node))) node.box = byPath.get(elementPath(node))!;
}

const keyOf = (rule: string, node: ReportNode): string => `${rule}\n${elementPath(node)}`;
const keysOf = (list: readonly ReportViolation[]): string[] => list.flatMap(({ rule, nodes }) => nodes.map((node) => keyOf(rule, node)));

/** Takes what was found in a state and is not known, and notes what is known. */
export function onlyNew(tested: Found, state: FoundInState, known: Known, found: VisitedStates): Found {
  const added: Found = { violations: [], needsReview: [] };
  const before = { violations: new Set(known.violations), needsReview: new Set(known.needsReview) };
  for (const list of ['violations', 'needsReview'] as const) {
    for (const finding of tested[list]) {
      const nodes = finding.nodes.flatMap((node) => {
        const key = keyOf(finding.rule, node);
        if (!before[list].has(key)) {
          if (list === 'violations') known.violations.add(key);
          known.needsReview.add(key);
          return [{ ...node, state: { ...state, steps: node.state?.steps ?? state.steps } }];
        }
        found.alsoIn.set(key, [...new Set([...(found.alsoIn.get(key) ?? []), state.kind])]);
        return [];
      });
      if (nodes.length > 0) added[list].push({ ...finding, nodes, nodes_total: nodes.length });
    }
    found[list] = joined(found[list], added[list]);
  }
  return added;
}

/** The findings of a page with those in its states. @param counted whether violations in states count as those at rest do */
export function withStates(
  atRest: PageFindings,
  { violations: failing, needsReview: review, passes: ran, alsoIn }: VisitedStates,
  counted: boolean,
): PageFindings {
  const marked = (list: ReportViolation[]): ReportViolation[] =>
    list.map((finding) => ({
      ...finding,
      nodes: finding.nodes.map((node) => {
        const kinds = alsoIn.get(keyOf(finding.rule, node));
        return kinds === undefined ? node : { ...node, also_in: kinds };
      }),
    }));
  const violations = joined(marked(atRest.violations), counted ? failing : []);
  const needsReview = joined(marked(atRest.needsReview), counted ? review : joined(failing, review));
  // A rule that passes in a state that does not count has no weight.
  const passes = [...atRest.passes, ...ran.map((rule) => (counted ? rule : { ...rule, impact: null }))];
  return { ...atRest, violations, needsReview, passes, rules: tallyOf(violations, passes) };
}

function joined(list: readonly ReportViolation[], more: readonly ReportViolation[]): ReportViolation[] {
  const rules = new Map(list.map((finding) => [finding.rule, finding]));
  for (const finding of more) {
    const known = rules.get(finding.rule);
    const impact = IMPACTS[Math.min(...[finding, known ?? finding].map(({ impact }) => IMPACTS.indexOf(impact)))]!;
    const nodes = [...(known?.nodes ?? []), ...finding.nodes];
    rules.set(finding.rule, { ...(known ?? finding), impact, nodes, nodes_total: nodes.length });
  }
  return [...rules.values()].sort(bySeverity);
}
