/**
 * Runs in our world of every document. Withdraws the speculation rules of the page before the browser follows them: it would
 * load pages that the crawl may not load, such as those that robots.txt disallows. The rules of a script are withdrawn when it
 * leaves the document, and do not come back with it. One that is still being parsed is inert with another type.
 */
(() => {
  'use strict';
  const withdrawn = new WeakSet();
  const RULES = 'script[type="speculationrules" i]';

  function withdraw(script) {
    if (withdrawn.has(script)) return;
    withdrawn.add(script);
    const { parentNode, nextSibling, type } = script;
    script.remove();
    script.setAttribute('type', 'text/plain');
    parentNode?.insertBefore(script, nextSibling);
    const restore = () => script.setAttribute('type', type);
    if (document.readyState === 'complete') restore();
    else addEventListener('load', restore, { once: true });
  }

  new MutationObserver((records) => {
    for (const { addedNodes } of records)
      for (const node of addedNodes) {
        if (node.nodeType !== Node.ELEMENT_NODE) continue;
        if (node.localName === 'script') {
          if (node.matches(RULES)) withdraw(node);
        } else if (node.firstElementChild !== null) for (const script of node.querySelectorAll(RULES)) withdraw(script);
      }
  }).observe(document, { subtree: true, childList: true });
})();
