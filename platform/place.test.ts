import { expect } from 'chai';
import { createPlace } from './place.ts';

describe('place', () => {
  const { signal } = new AbortController();

  it('is taken once, and then by those that wait, in their order', async () => {
    const place = createPlace();
    const entered: string[] = [];
    expect(place.tryEnter()).to.equal(true);
    const both = ['a', 'b'].map((name) => place.enter(signal).then(() => entered.push(name)));
    expect(place.tryEnter()).to.equal(false);
    place.leave();
    await both[0];
    expect(entered).to.deep.equal(['a']);
    expect(place.tryEnter()).to.equal(false);
    place.leave();
    await both[1];
    place.leave();
    expect(place.tryEnter()).to.equal(true);
  });

  it('is not given to one that waits no longer', async () => {
    const place = createPlace();
    place.tryEnter();
    const stop = new AbortController();
    const first = place.enter(stop.signal).catch((error: Error) => error.message);
    const second = place.enter(signal);
    stop.abort(new Error('lease lost'));
    expect(await first).to.equal('lease lost');
    place.leave();
    await second;
    expect(await place.enter(stop.signal).catch((error: Error) => error.message)).to.equal('lease lost');
  });

  it('does not forget another one that waits when the next one aborts at the moment it gets the place', async () => {
    const place = createPlace();
    place.tryEnter();
    const stop = new AbortController();
    const first = place.enter(stop.signal);
    const second = place.enter(signal);
    place.leave();
    stop.abort(new Error('lease lost'));
    await first;
    place.leave();
    await second;
  });
});
