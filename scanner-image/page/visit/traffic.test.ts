import { EventEmitter } from 'node:events';
import { expect } from 'chai';
import { EVERY_WAIT } from '../../crawl/wait-history.ts';
import { watchTraffic } from './traffic.ts';

const PAGE = new URL('https://a.test/');

describe('traffic of a tab', () => {
  /** A CDP session whose events the test emits. */
  async function watchedSession() {
    const cdp = Object.assign(new EventEmitter(), { send: () => Promise.resolve({}) });
    let changes = 0;
    let now = 0;
    const condition = { notify: () => void changes++, waitFor: () => Promise.resolve(true) };
    const deps = { changes: condition, egressFailureOf: () => undefined, monotonic: () => now };
    const traffic = await watchTraffic(cdp, 'main', deps);
    await traffic.begin(PAGE, () => null);
    const sent = (requestId: string, more: object = {}): void =>
      void cdp.emit('Network.requestWillBeSent', {
        requestId,
        loaderId: 'a-document',
        type: 'Fetch',
        request: { url: 'https://a.test/data' },
        ...more,
      });
    const pass = (ms: number): void => void (now += ms);
    return {
      traffic,
      sent,
      pass,
      over: (how: string, requestId: string) => cdp.emit(`Network.${how}`, { requestId }),
      answer: (requestId: string, headers: object = {}) =>
        cdp.emit('Network.responseReceived', { requestId, response: { url: 'https://a.test/data', headers } }),
      data: (requestId: string, encodedDataLength: number) => cdp.emit('Network.dataReceived', { requestId, encodedDataLength }),
      changes: () => changes,
    };
  }

  it('counts scripts and data requests until they have finished or failed', async () => {
    const { traffic, sent, over, changes } = await watchedSession();
    sent('data');
    sent('script', { type: 'Script' });
    sent('picture', { type: 'Image' });
    expect(traffic.requests.pending(1500)).to.equal(2);
    over('loadingFinished', 'data');
    expect([traffic.requests.pending(1500), changes()]).to.deep.equal([1, 1]);
    over('loadingFailed', 'script');
    over('loadingFinished', 'picture');
    expect([traffic.requests.pending(1500), changes()]).to.deep.equal([0, 3]);
  });

  it('takes a body that nobody reads for arrived: by its length, or when no more data comes', async () => {
    const { traffic, sent, answer, data, pass } = await watchedSession();
    const pending = (): number => traffic.requests.pending(5000);
    for (const id of ['sized', 'cut', 'unsized', 'headers only']) sent(id);
    answer('sized', { 'content-length': '11' });
    answer('cut', { 'Content-Length': '11' });
    answer('unsized');
    answer('headers only');
    data('sized', 11);
    expect(pending()).to.equal(3);
    for (const id of ['cut', 'unsized']) data(id, 5);
    pass(400);
    data('unsized', 5);
    pass(400);
    expect(pending()).to.equal(3);
    pass(100);
    expect([pending(), traffic.requests.openData(900).length]).to.deep.equal([2, 2]);
  });

  it('ignores the script of a worker, because its end is reported only to the worker', async () => {
    const { traffic, sent } = await watchedSession();
    sent('worker', { type: 'Script', loaderId: '' });
    expect(traffic.requests.pending(1500)).to.equal(0);
  });

  it('stops counting a request after its maximum age, measured from before its redirects', async () => {
    const { traffic, sent, pass } = await watchedSession();
    sent('poll');
    pass(1000);
    sent('poll');
    pass(600);
    expect([traffic.requests.pending(1500), traffic.requests.pending(3000)]).to.deep.equal([0, 1]);
  });

  it('does not wait for data that an earlier page waited for in vain, and names it', async () => {
    const { traffic, sent } = await watchedSession();
    await traffic.begin(PAGE, () => null, { ...EVERY_WAIT, leftOpen: new Set(['https://a.test/poll']) });
    sent('poll', { request: { url: 'https://a.test/poll?since=1' } });
    sent('data', { request: { url: 'https://a.test/data' } });
    expect(traffic.requests.pending(1500)).to.equal(1);
    expect(traffic.requests.openData(1500).map(({ url }) => url)).to.deep.equal(['https://a.test/poll?since=1']);
  });

  it('forgets the requests of the previous page', async () => {
    const { traffic, sent } = await watchedSession();
    sent('data');
    await traffic.begin(PAGE, () => null);
    expect(traffic.requests.pending(1500)).to.equal(0);
  });

  it('does not take an answer that arrives late, or its body, for the failure of the next page', async () => {
    const bodies: (() => void)[] = [];
    const send = (method: string): Promise<object> =>
      method === 'Fetch.getResponseBody' ? new Promise((resolve) => bodies.push(() => resolve({ body: '' }))) : Promise.resolve({});
    const cdp = Object.assign(new EventEmitter(), { send });
    const changes = { notify: () => undefined, waitFor: () => Promise.resolve(true) };
    const traffic = await watchTraffic(cdp, 'main', { changes, egressFailureOf: () => undefined });
    const pause = (networkId: string, more: object = {}): void => {
      const request = { url: `https://a.test/${networkId}`, headers: {} };
      cdp.emit('Fetch.requestPaused', { requestId: networkId, networkId, frameId: 'main', resourceType: 'Document', request, ...more });
    };
    await traffic.begin(PAGE, () => null);
    for (const id of ['gone', 'late']) pause(id);
    pause('gone', { responseStatusCode: 404 });
    await traffic.begin(PAGE, () => null);
    bodies[0]!();
    pause('late', { responseStatusCode: 404 });
    await new Promise(setImmediate);
    expect([traffic.stopped(), traffic.answer(), bodies.length]).to.deep.equal([null, null, 1]);
  });
});
