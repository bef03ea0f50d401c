/**
 * Runs in our world of every document. Withdraws the speculation rules of the page before the browser follows them: it would
 * load pages that the crawl may not load, such as those that robots.txt disallows. The rules of a script are withdrawn when it
 * leaves the document, and do not come back with it. One that is still being parsed is inert with another type.
 */

const withdrawn = new WeakSet();
const RULES = 'script[type="speculationrules" i]';
/** More changes than this are not looked at one by one, as while the document is parsed: it costs an object for each of its nodes. */
const EACH_MAX = 20;

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

function search(root) {
  for (const script of root.querySelectorAll(RULES)) withdraw(script);
}

new MutationObserver((records) => {
  if (records.length > EACH_MAX) return search(document);
  for (const { addedNodes } of records)
    for (const node of addedNodes) {
      if (node.nodeType !== Node.ELEMENT_NODE) continue;
      if (node.localName === 'script') {
        if (node.matches(RULES)) withdraw(node);
      } else if (node.firstElementChild !== null) search(node);
    }
}).observe(document, { subtree: true, childList: true });
