/**
 * Runs in our world after axe-core. A part of the page that scrolls needs a place in the focus order, which axe-core demands itself
 * (`scrollable-region-focusable`), so the rule about roles in the focus order does not advise against it.
 */

const RULE = 'focus-order-semantics';
const { matches } = axe._audit.rules.find(({ id }) => id === RULE);
const scrolls = (node) => {
  const { overflowX, overflowY } = getComputedStyle(node);
  return /auto|scroll/.test(`${overflowX} ${overflowY}`);
};
axe.configure({ rules: [{ id: RULE, matches: (node, ...more) => !scrolls(node) && matches(node, ...more) }] });
