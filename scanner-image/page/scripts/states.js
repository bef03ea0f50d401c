/** Runs in the isolated world after axe-core. What the states of a page need to know of it. */

const SCHEME = 'prefers-color-scheme';
/** More rules are not searched. */
const RULES_MAX = 50_000;

/** Whether the document has styles for a dark colour scheme, as far as its style sheets can be read. */
function hasDark() {
  const meta = document.querySelector('meta[name="color-scheme" i]')?.getAttribute('content') ?? '';
  if (/\bdark\b/i.test(meta)) return true;
  let left = RULES_MAX;
  const inRules = (rules) => {
    for (const rule of rules) {
      if (left-- <= 0) return false;
      if (rule.media?.mediaText.includes(SCHEME) || /\bdark\b/.test(rule.style?.getPropertyValue('color-scheme') ?? '')) return true;
      if (inSheet(rule.styleSheet) || (rule.cssRules?.length > 0 && inRules(rule.cssRules))) return true;
    }
    return false;
  };
  const inSheet = (sheet) => {
    if (!sheet || sheet.disabled) return false;
    if (sheet.media.mediaText.includes(SCHEME)) return true;
    try {
      return inRules(sheet.cssRules);
    } catch {
      return false; // of another origin: our program reads it
    }
  };
  return globalThis.curbcutSeen.roots().some((root) => [...root.styleSheets, ...root.adoptedStyleSheets].some(inSheet));
}

globalThis.curbcut = { ...globalThis.curbcut, hasDark };
