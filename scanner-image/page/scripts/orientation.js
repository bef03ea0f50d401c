/**
 * Runs in the isolated world after axe-core. Lets axe-core's rule `css-orientation-lock` run where a style sheet turns something by a quarter
 * in one orientation. Without style sheets the rule is undecided on every page, and axe-core itself fails it for an arrow that turns.
 *
 * Style sheets of other origins are unreadable here. Our program hands over those that mention the orientation (hidden-content.ts).
 */

const RULE = 'css-orientation-lock';
/** The media rule that axe-core's check looks for, in a style sheet of another origin too. */
const ORIENTATION = /orientation\s*:\s*(landscape|portrait)/i;
const PRINT = /\bprint\b/i;

/** The style sheets of other origins that were handed over, by their address. */
const foreign = new Map();

/** The rules of a style sheet; null if it is of another origin. */
function rulesIn(sheet) {
  if (sheet.disabled) return [];
  try {
    return sheet.cssRules;
  } catch {
    return null;
  }
}

/** The style rules that turn something in one orientation. */
function* turning(sheet, media, isOriented) {
  if (PRINT.test(media)) return;
  const rules = rulesIn(sheet);
  const within = isOriented || ORIENTATION.test(media);
  if (rules !== null) yield* turningIn(rules, within);
  else for (const known of foreign.get(sheet.href) ?? []) yield* turningIn(known.cssRules, within);
}

function* turningIn(rules, isOriented) {
  for (const rule of rules) {
    if (rule instanceof CSSStyleRule) {
      if (isOriented && (rule.style.transform !== '' || rule.style.rotate !== '')) yield rule;
    } else if (rule instanceof CSSImportRule) {
      if (rule.styleSheet !== null) yield* turning(rule.styleSheet, rule.media.mediaText, isOriented);
    } else if (rule instanceof CSSMediaRule) {
      if (!PRINT.test(rule.conditionText)) yield* turningIn(rule.cssRules, isOriented || ORIENTATION.test(rule.conditionText));
    } else if (rule instanceof CSSGroupingRule) yield* turningIn(rule.cssRules, isOriented);
  }
}

/** The document, and the shadow roots that axe-core has found. */
function rootsOf(page) {
  const roots = new Set([document]);
  const waiting = [page];
  for (let at = waiting.pop(); at !== undefined; at = waiting.pop()) {
    if (at.shadowId !== undefined && at.actualNode instanceof Element) roots.add(at.actualNode.getRootNode());
    for (const child of at.children) waiting.push(child);
  }
  return roots;
}

const { evaluate } = axe._audit.checks[RULE];

/** Whether axe-core takes a style rule for a lock: it turns by a quarter. */
function turnsByQuarter(rule, options) {
  const media = { type: CSSRule.MEDIA_RULE, cssText: 'orientation: portrait', cssRules: [rule] };
  const root = { querySelectorAll: () => [] };
  return (
    evaluate.call({ relatedNodes: () => undefined }, null, options, null, { cssom: [{ sheet: { cssRules: [media] }, root }] }) === false
  );
}

/** The roots with their style rules that turn by a quarter. By the page's tree, which is new in each run. */
const known = new WeakMap();
function turnsOf(page, options) {
  let turns = known.get(page);
  if (turns === undefined) {
    turns = [...rootsOf(page)].flatMap((root) =>
      [...root.styleSheets, ...root.adoptedStyleSheets].flatMap((sheet) =>
        [...turning(sheet, sheet.media.mediaText, false)].filter((rule) => turnsByQuarter(rule, options)).map((rule) => ({ root, rule })),
      ),
    );
    known.set(page, turns);
  }
  return turns;
}

const textLength = (virtual) => axe.commons.text.visibleVirtual(virtual, false).length;

/** The elements that are turned. */
function turnedBy({ root, rule }) {
  try {
    return [...root.querySelectorAll(rule.selectorText)];
  } catch {
    return [];
  }
}

/** True if nothing with a text is turned; false if it is the page; undefined if it is a part of the page. */
function judge(page, options) {
  const whole = textLength(page);
  let result = true;
  const locked = [];
  for (const element of turnsOf(page, options).flatMap(turnedBy)) {
    const virtual = axe.utils.getNodeFromTree(element);
    if (!virtual) continue;
    const length = textLength(virtual);
    if (element === document.documentElement || element === document.body || (length > 0 && 2 * length >= whole)) locked.push(element);
    else if (length > 0) result = undefined;
  }
  return { result: locked.length > 0 ? false : result, locked };
}

const { tags } = axe._audit.rules.find(({ id }) => id === RULE);
axe.configure({
  checks: [
    {
      id: RULE,
      evaluate(node, options, virtual) {
        const { result, locked } = judge(virtual, options);
        this.relatedNodes(locked.filter((element) => element !== node));
        return result;
      },
    },
  ],
  // axe-core runs no rule with the tag `experimental`. The others are those of WCAG 2.1 AA.
  rules: [
    {
      id: RULE,
      tags: tags.filter((tag) => tag !== 'experimental'),
      matches: (_node, virtual) => turnsOf(virtual, axe._audit.checks[RULE].options).length > 0,
    },
  ],
});

globalThis.curbcutSheets = {
  /** The addresses of style sheets of other origins, and whether all of their rules are for one orientation. */
  foreign(roots) {
    const found = new Map();
    const visit = (sheet, media) => {
      if (sheet === null || PRINT.test(media)) return;
      const rules = rulesIn(sheet);
      if (rules === null) found.set(sheet.href, ORIENTATION.test(media) || found.get(sheet.href) === true);
      // Imports precede all other rules, except for those that declare layers.
      else
        for (const rule of rules) {
          if (rule instanceof CSSImportRule) visit(rule.styleSheet, rule.media.mediaText);
          else if (!(rule instanceof CSSLayerStatementRule)) break;
        }
    };
    for (const root of roots) for (const sheet of root.styleSheets) visit(sheet, sheet.media.mediaText);
    return [...found].map(([href, isOriented]) => ({ href, isOriented }));
  },
  /** Takes the text of a style sheet of another origin, with those that it imports. */
  add(href, texts) {
    const sheets = texts.map((text) => {
      const sheet = new CSSStyleSheet();
      sheet.replaceSync(text);
      return sheet;
    });
    foreign.set(href, sheets);
  },
};
