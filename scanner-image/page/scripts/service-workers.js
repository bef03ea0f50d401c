/**
 * Runs in the page's own world of every document, before the scripts of the page. Stands in for service workers, which would go
 * on when their page was left, answer requests of later pages, and introduce themselves as another browser. An application that
 * registers one and waits until it is ready goes on, as on a first visit: its requests are answered by its site.
 */

const container = (() => {
  try {
    return globalThis.navigator?.serviceWorker;
  } catch {
    // A sandbox has no service workers.
    return undefined;
  }
})();
const { create, defineProperties, defineProperty } = Object;

/** An object of an interface whose objects only the browser can make, with these values and working listeners. */
function standIn(prototype, values) {
  const target = new EventTarget();
  const listeners = ['addEventListener', 'removeEventListener', 'dispatchEvent'].map((name) => [name, target[name].bind(target)]);
  const all = Object.entries({ ...Object.fromEntries(listeners), ...values });
  return defineProperties(
    create(prototype),
    Object.fromEntries(all.map(([name, value]) => [name, { value, writable: true, configurable: true }])),
  );
}

const { promise: ready, resolve: becomeReady } = Promise.withResolvers();
const registrations = new Map();

function registrationOf(script, { scope = new URL('.', script).href, updateViaCache = 'imports' } = {}) {
  const { href } = new URL(scope, document.baseURI);
  const worker = standIn(ServiceWorker.prototype, {
    scriptURL: script.href,
    state: 'activated',
    onstatechange: null,
    postMessage: () => undefined,
  });
  const registration = standIn(ServiceWorkerRegistration.prototype, {
    ...{ scope: href, updateViaCache, installing: null, waiting: null, active: worker, onupdatefound: null },
    update: () => Promise.resolve(registration),
    unregister: () => Promise.resolve(registrations.delete(href)),
    getNotifications: () => Promise.resolve([]),
    showNotification: () => Promise.reject(new TypeError('No notification permission has been granted for this origin.')),
  });
  registrations.set(href, registration);
  return registration;
}

const replace = {
  register: async (script, options) => {
    const registration = registrationOf(new URL(script, document.baseURI), options);
    if (location.href.startsWith(registration.scope)) becomeReady(registration);
    return registration;
  },
  getRegistration: (address = '') => {
    const { href } = new URL(address, document.baseURI);
    return Promise.resolve([...registrations].find(([scope]) => href.startsWith(scope))?.[1]);
  },
  getRegistrations: () => Promise.resolve([...registrations.values()]),
};
if (container !== undefined) {
  for (const [name, value] of Object.entries(replace)) {
    // A driver of the browser may replace them too, before or after this script.
    defineProperty(container, name, { get: () => value, set: () => undefined });
    defineProperty(ServiceWorkerContainer.prototype, name, { value, writable: true, configurable: true, enumerable: true });
  }
  defineProperty(ServiceWorkerContainer.prototype, 'ready', { get: () => ready, configurable: true, enumerable: true });
}
