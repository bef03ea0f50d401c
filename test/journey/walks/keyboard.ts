/** A page as people use it who have a keyboard only. */
import { AssertionError } from 'chai';
import type { Page } from 'playwright-core';

/** No page of ours may need more to reach anything on it. */
const TABS_MAX = 80;

/** What has the focus: its name, and why a person cannot see that it has it; null if they can. */
interface Focused {
  name: string;
  unseen: string | null;
}
const FOCUSED = `(() => {
  const one = document.activeElement;
  const { outlineStyle, outlineWidth } = getComputedStyle(one);
  const { top, bottom, width, height } = one.getBoundingClientRect();
  const name = one === document.body ? '' : one.getAttribute('aria-label') ?? one.labels?.[0]?.innerText ?? one.innerText ?? '';
  // The browser marks the parts of its own controls, such as the button in a field for a date.
  const unseen = one === document.body || !one.matches(':focus') ? null
    : !one.matches(':focus-visible') || outlineStyle === 'none' || parseFloat(outlineWidth) < 2 ? 'it has no outline'
    : width < 2 || height < 2 ? 'it has no size'
    : bottom <= 0 || top >= innerHeight ? 'it is outside of the window' : null;
  return { name: name.replace(/\\s+/g, ' ').trim(), unseen };
})()`;

export interface Keyboard {
  /** Moves the focus with Tab to what has this name. Each stop must be visible. */
  to(name: string | RegExp): Promise<void>;
  /** Moves the focus there and presses Enter. */
  open(name: string | RegExp): Promise<void>;
  /** Moves the focus to a field and types. */
  type(name: string | RegExp, text: string): Promise<void>;
}

export function keyboardOf(page: Page): Keyboard {
  async function to(name: string | RegExp): Promise<void> {
    const passed: string[] = [];
    for (let tabs = 0; tabs < TABS_MAX; tabs++) {
      await page.keyboard.press('Tab');
      const focused = await page.evaluate<Focused>(FOCUSED);
      if (focused.unseen !== null) throw new AssertionError(`the focus is on "${focused.name}", and ${focused.unseen} (${page.url()})`);
      if (typeof name === 'string' ? focused.name === name : name.test(focused.name)) return;
      passed.push(focused.name);
    }
    throw new AssertionError(`${String(name)} was not reached with ${TABS_MAX} times Tab (${page.url()}): ${passed.join(' | ')}`);
  }
  return {
    to,
    async open(name) {
      await to(name);
      await page.keyboard.press('Enter');
    },
    async type(name, text) {
      await to(name);
      await page.keyboard.type(text);
    },
  };
}
