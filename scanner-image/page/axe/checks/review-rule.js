/**
 * Runs in our world after axe-core. Adds rules of ours to axe-core. Their elements always need review and are never violations.
 * What is known about the rules comes from report/schema/engines.ts.
 */

const RULES = globalThis.curbcutOwnRules;

/** Adds a rule. `check` returns whether an element is right; `matches` whether the rule is about it. */
globalThis.curbcutAddRule = (id, { selector, matches, check }) => {
  const { impact, tags, help, description, helpUrl, message } = RULES[id];
  axe.configure({
    checks: [{ id, evaluate: check, metadata: { impact, messages: { pass: '', fail: message } } }],
    rules: [{ id, selector, matches, tags, any: [id], all: [], none: [], reviewOnFail: true, metadata: { help, description, helpUrl } }],
  });
};
