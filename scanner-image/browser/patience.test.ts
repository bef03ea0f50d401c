import { expect } from 'chai';
import { createPatience } from './patience.ts';

describe('patience of a scan', () => {
  const timers = (delays: number[], found: boolean, ms = 300) => ({ for: 'timers', delays, ms, found }) as const;

  it('waits for everything on the first page of a template', () => {
    const plan = createPatience().plan('/a');
    expect(plan).to.include({ horizonMs: 1000, scroll: true, messages: true, settleMs: 3000, waitForMs: 10_000 });
    expect(plan.skip).to.deep.equal([]);
  });

  it('does not repeat waits that found nothing on the template', () => {
    const patience = createPatience();
    patience.learn('/a', timers([250, 300], false));
    patience.learn('/a', { for: 'scroll', ms: 100, found: false });
    patience.learn('/a', { for: 'messages', ms: 100, found: false });
    const plan = patience.plan('/a');
    expect(plan).to.include({ scroll: false, messages: false });
    expect(plan.skip).to.have.members([250, 300]);
    expect(patience.plan('/b')).to.deep.include({ skip: [], scroll: true, messages: true });
  });

  it('repeats waits that found something, and waits longer there', () => {
    const patience = createPatience();
    patience.learn('/a', timers([250], true));
    patience.learn('/a', timers([250], false));
    patience.learn('/a', { for: 'scroll', ms: 100, found: true });
    expect(patience.plan('/a')).to.deep.include({ skip: [], scroll: true, horizonMs: 3000 });
    expect(patience.plan('/b').horizonMs).to.equal(1000);
  });

  it('waits for new timers on a template whose other timers showed nothing', () => {
    const patience = createPatience();
    patience.learn('/a', timers([1000], false));
    expect(patience.plan('/a').skip).to.deep.equal([1000]);
  });

  it('gives up a wait on all templates after it found nothing on two', () => {
    const patience = createPatience();
    for (const template of ['/a', '/b']) {
      patience.learn(template, timers([1000], false));
      patience.learn(template, { for: 'scroll', ms: 10, found: false });
    }
    expect(patience.plan('/c')).to.deep.include({ skip: [1000], scroll: false, messages: true });
  });

  it('keeps a wait on new templates if it found something on one', () => {
    const patience = createPatience();
    patience.learn('/a', timers([1000], true));
    for (const template of ['/b', '/c', '/d']) patience.learn(template, timers([1000], false));
    expect(patience.plan('/e').skip).to.deep.equal([]);
  });

  it('waits only for what is proven after four seconds in vain', () => {
    const patience = createPatience();
    patience.learn('/good', timers([200], true, 9000));
    for (let page = 0; page < 4; page++) patience.learn(`/${page}`, timers([page], false, 1000));
    expect(patience.plan('/new')).to.deep.include({ skip: null, scroll: false, messages: false });
    expect(patience.plan('/good').skip).to.deep.equal([0, 1, 2, 3]);
  });

  it('is short with pages that always change without showing more, and with missing elements', () => {
    const patience = createPatience();
    patience.learn('/a', { for: 'quiet', ms: 3000, found: false });
    patience.learn('/a', { for: 'element', ms: 10_000, found: false });
    expect(patience.plan('/a')).to.include({ settleMs: 700, waitForMs: 2000 });
    expect(patience.plan('/b')).to.include({ settleMs: 3000, waitForMs: 10_000 });
    patience.learn('/a', { for: 'element', ms: 500, found: true });
    expect(patience.plan('/a').waitForMs).to.equal(10_000);
  });
});
