/**
 * Runs in the page's own world of every document, before the scripts of the page. Tells `closed-roots.js` which elements get
 * closed shadow roots, by events of a node that the page cannot reach. It uses no method that the page could have replaced.
 */
(() => {
  'use strict';
  const { apply } = Reflect;
  const Message = MouseEvent;
  const modeOf = Object.getOwnPropertyDescriptor(ShadowRoot.prototype, 'mode').get;
  const messenger = document.createComment('');
  const send = messenger.dispatchEvent.bind(messenger);

  /** Replaces a method by one that calls `seen` after it. It looks like the original. */
  function watch(owner, name, seen) {
    const real = owner?.[name];
    if (typeof real !== 'function') return;
    owner[name] = new Proxy(real, {
      apply(target, self, values) {
        const result = apply(target, self, values);
        seen(self, result);
        return result;
      },
    });
  }

  watch(Element.prototype, 'attachShadow', (host, root) => {
    if (apply(modeOf, root, []) === 'closed') send(new Message('root', { relatedTarget: host }));
  });
  // HTML that scripts set may declare closed roots.
  for (const owner of [Element.prototype, ShadowRoot.prototype]) watch(owner, 'setHTMLUnsafe', () => send(new Message('root')));
  watch(Document, 'parseHTMLUnsafe', () => send(new Message('root')));

  // `closed-roots.js` was evaluated before, in our world.
  dispatchEvent(new MouseEvent('curbcut-roots', { relatedTarget: messenger }));
})();
