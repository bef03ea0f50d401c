/** A page that tries to reach an internal server in every way that browsers offer, and tells its site which interfaces exist. */
import { nightly } from '../support/nightly.ts';
import type { Route } from './site.ts';

/** What exists on secure origins only. The page reports them, so that the test notices if it tries nothing. */
export const SECURE_INTERFACES = ['WebTransport', 'serviceWorker', 'caches', 'fetchLater', 'PaymentRequest', 'credentials'] as const;

const hostsOf = (port: number): string[] => [
  `127.0.0.1:${port}`,
  `localhost:${port}`,
  `x.localhost:${port}`,
  `2130706433:${port}`,
  `0x7f.1:${port}`,
  `[::1]:${port}`,
  `[::ffff:127.0.0.1]:${port}`,
  `rebind.test:${port}`,
  '169.254.169.254',
  'metadata.google.internal',
];

/** Runs in the page. Each way is on its own, because an interface that is missing must not stop the others. */
const ATTEMPTS = String.raw`
  const tried = [];
  const attempt = (name, work) => { try { Promise.resolve(work()).catch(() => 0); tried.push(name); } catch {} };
  const add = (tag, values, parent = document.body) => { const element = document.createElement(tag); Object.assign(element, values); parent.append(element); return element; };
  for (const host of hosts) for (const scheme of ['http', 'https']) {
    const to = (path) => scheme + '://' + host + '/' + path;
    const socket = to('socket').replace('http', 'ws');
    attempt('fetch', () => fetch(to('fetch'), { mode: 'no-cors' }));
    if (!every.includes(host)) continue;
    attempt('keepalive', () => fetch(to('keepalive'), { mode: 'no-cors', method: 'POST', body: 'x', keepalive: true }));
    attempt('fetchLater', () => { fetchLater(to('later'), { activateAfter: 0 }); fetchLater(to('later-on-leaving')); });
    attempt('XMLHttpRequest', () => { const request = new XMLHttpRequest(); request.open('GET', to('request')); request.send(); });
    attempt('import', () => import(to('module.js')));
    attempt('image', () => { new Image().src = to('image'); });
    attempt('WebSocket', () => { new WebSocket(socket); });
    attempt('WebSocketStream', () => new WebSocketStream(socket).opened);
    attempt('WebTransport', () => new WebTransport(to('transport')).ready);
    attempt('EventSource', () => { new EventSource(to('events')); });
    attempt('beacon', () => { navigator.sendBeacon(to('beacon'), 'x'); });
    attempt('Worker', () => { new Worker(URL.createObjectURL(new Blob(['for (const name of ["fetch", "imported"]) { try { fetch("' + to('worker') + '", { mode: "no-cors" }).catch(() => 0); importScripts("' + to('imported.js') + '") } catch {} } try { new WebSocket("' + socket + '"); new WebTransport("' + to('from-worker') + '") } catch {}']))); });
    attempt('SharedWorker', () => { new SharedWorker(URL.createObjectURL(new Blob(['fetch("' + to('shared') + '", { mode: "no-cors" }).catch(() => 0)']))); });
    attempt('FontFace', () => new FontFace('x', 'url(' + to('font') + ')').load());
    attempt('AudioWorklet', () => new AudioContext().audioWorklet.addModule(to('audio.js')));
    attempt('CSS.paintWorklet', () => CSS.paintWorklet.addModule(to('paint.js')));
    attempt('sharedStorage', () => sharedStorage.createWorklet(to('shared-storage.js')));
    attempt('joinAdInterestGroup', () => navigator.joinAdInterestGroup({ owner: to(''), name: 'x', biddingLogicURL: to('bid.js'), updateURL: to('update'), lifetimeMs: 1000 }));
    attempt('PaymentRequest', () => new PaymentRequest([{ supportedMethods: to('pay') }], { total: { label: 'x', amount: { currency: 'EUR', value: '1' } } }).canMakePayment());
    attempt('identity', () => navigator.credentials.get({ identity: { providers: [{ configURL: to('config.json'), clientId: 'x' }] } }));
    attempt('publicKey', () => navigator.credentials.get({ publicKey: { challenge: new Uint8Array(8), rpId: host.split(':')[0] } }));
    attempt('frame', () => { add('iframe', { src: to('frame'), title: 'f' }); add('embed', { src: to('embed') }); add('object', { data: to('object') }); });
    attempt('media', () => { add('video', { src: to('video'), poster: to('poster'), preload: 'auto' }); add('audio', { src: to('audio'), preload: 'auto' }); });
    attempt('style', () => { add('style', { textContent: '@import "' + to('import.css') + '"; body { background: url(' + to('background') + '); cursor: url(' + to('cursor') + '), auto }' }); });
    attempt('attribution', () => { const image = new Image(); image.setAttribute('attributionsrc', to('attribution')); image.src = '/pixel'; });
    attempt('ping', () => { const link = add('a', { href: '#x', ping: to('ping'), textContent: 'x' }); link.click(); });
    for (const rel of ['preconnect', 'dns-prefetch', 'prefetch', 'prerender', 'stylesheet', 'modulepreload', 'manifest', 'icon', 'preload', 'compression-dictionary'])
      attempt(rel, () => { add('link', { rel, href: to(rel), as: 'image' }, document.head); });
    attempt('speculation rules', () => { add('script', { type: 'speculationrules', textContent: JSON.stringify({ prefetch: [{ urls: [to('speculated')] }], prerender: [{ urls: [to('prerendered')] }] }) }, document.head); });
    attempt('import map', () => { add('script', { src: to('script.js') }); add('script', { type: 'module', src: to('module-script.js') }); });
    attempt('form', () => { add('form', { action: to('form'), target: 'aside' }).submit(); });
    attempt('popup', () => { open(to('popup')); });
  }
  attempt('redirect', () => fetch('/redirect'));
  attempt('redirected image', () => { new Image().src = '/redirect'; });
  attempt('files', () => { open('file:///etc/passwd'); open('view-source:http://' + hosts[0] + '/'); });
  attempt('serviceWorker', () => {
    for (const container of [ServiceWorkerContainer, add('iframe', { title: 'empty' }).contentWindow.ServiceWorkerContainer])
      container.prototype.register.call(navigator.serviceWorker, '/service-worker.js');
  });
  attempt('RTCPeerConnection', async () => {
    const at = hosts[0];
    const rtc = new RTCPeerConnection({ iceServers: [{ urls: 'stun:' + at }, { urls: 'turn:' + at, username: 'a', credential: 'b' }, { urls: 'turn:' + at + '?transport=tcp', username: 'a', credential: 'b' }, { urls: 'turns:' + at, username: 'a', credential: 'b' }] });
    rtc.createDataChannel('x');
    await rtc.setLocalDescription(await rtc.createOffer());
    await rtc.setRemoteDescription({ type: 'answer', sdp: rtc.localDescription.sdp.replace('setup:actpass', 'setup:active') });
    await rtc.addIceCandidate({ candidate: 'candidate:1 1 udp 2122260223 127.0.0.1 ' + at.split(':')[1] + ' typ host', sdpMid: '0' });
  });
  const exist = names.filter((name) => name in window || name in navigator);
  fetch('/_tried?' + encodeURIComponent(JSON.stringify({ tried: [...new Set(tried)], exist, secure: isSecureContext })));`;

/** Hosts that a page tries in every way; it fetches from all others. The proxy judges their addresses, whatever asks for them. */
const everyWay = (port: number): string[] => nightly([`127.0.0.1:${port}`, `rebind.test:${port}`], hostsOf(port));

/** The script of the page. @param port the port of the internal server */
export const attemptsAt = (port: number): string =>
  `<script>{ const hosts = ${JSON.stringify(hostsOf(port))}, every = ${JSON.stringify(everyWay(port))}, names = ${JSON.stringify(SECURE_INTERFACES)}; ${ATTEMPTS} }</script>`;

/** Headers by which a server makes the browser report and preload elsewhere. */
export const hostileHeaders = (port: number): Record<string, string> => ({
  'reporting-endpoints': `default="http://127.0.0.1:${port}/report", csp="https://127.0.0.1:${port}/csp"`,
  'report-to': JSON.stringify({ group: 'default', max_age: 3600, endpoints: [{ url: `https://127.0.0.1:${port}/report-to` }] }),
  nel: JSON.stringify({ report_to: 'default', max_age: 3600, success_fraction: 1, failure_fraction: 1 }),
  'content-security-policy-report-only': `img-src 'none'; report-uri http://127.0.0.1:${port}/csp-report; report-to csp`,
  link: `<http://127.0.0.1:${port}/preload>; rel=preload; as=image, <http://127.0.0.1:${port}>; rel=preconnect`,
  'speculation-rules': `"http://127.0.0.1:${port}/rules.json"`,
  'alt-svc': `h3="127.0.0.1:${port}"; ma=3600, h2="127.0.0.1:${port}"; ma=3600`,
  'x-dns-prefetch-control': 'on',
});

/** A service worker that tries it too. */
export const hostileServiceWorker =
  (port: number): Route =>
  (_request, response) =>
    response
      .writeHead(200, { 'content-type': 'text/javascript' })
      .end(
        `fetch('http://127.0.0.1:${port}/service-worker', { mode: 'no-cors' }); addEventListener('install', () => fetch('http://127.0.0.1:${port}/installed', { mode: 'no-cors' }));`,
      );
