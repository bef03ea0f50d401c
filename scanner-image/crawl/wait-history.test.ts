import { expect } from 'chai';
import {
  blockedPatterns,
  createWaitHistory,
  noOutcomes,
  isBlocked,
  EVERY_WAIT,
  planAgain,
  withoutQuery,
  type WaitOutcomes,
} from './wait-history.ts';

const outcomes = (more: Partial<WaitOutcomes>): WaitOutcomes => ({ ...noOutcomes(), ...more });
const at = (position: number, path: string, knows = position - 1) => ({ position, knows, url: new URL(path, 'https://a.test') });

describe('outcomes of waits', () => {
  it('skip a wait that had no result on pages of the template', () => {
    const history = createWaitHistory();
    expect(history.planFor(at(0, '/news/1')).skips).to.deep.equal(new Set());
    history.record(at(0, '/news/1'), outcomes({ useless: ['work', 'scroll'] }));
    expect(history.planFor(at(9, '/news/2')).skips).to.deep.equal(new Set(['work', 'scroll']));
    expect(history.planFor(at(9, '/other/page'))).to.deep.equal(EVERY_WAIT);
  });

  it('do not skip a wait that had a result on one of them', () => {
    const history = createWaitHistory();
    history.record(at(0, '/news/1'), outcomes({ useless: ['scroll', 'messages'], hangsOnScroll: true }));
    history.record(at(1, '/news/2'), outcomes({ useful: ['scroll'] }));
    const plan = history.planFor(at(9, '/news/3'));
    expect(plan).to.deep.include({ skips: new Set(['messages']), useful: new Set(['scroll']), hangsOnScroll: true });
    expect(history.planFor(at(9, '/other/page')).hangsOnScroll).to.equal(false);
  });

  it('are used up to the position that the page may know, and not beyond', () => {
    const history = createWaitHistory();
    history.record(at(3, '/news/1'), outcomes({ unanswered: ['https://cdn.test/a.js'] }));
    for (const knows of [-1, 0, 2]) expect(history.planFor(at(9, '/news/2', knows))).to.deep.equal(EVERY_WAIT);
    expect(history.planFor(at(9, '/news/2', 3)).blocked).to.deep.equal(['https://cdn.test']);
  });

  it('do not ask a host again that never answered; of other hosts only what did not arrive', () => {
    const history = createWaitHistory();
    history.record(
      at(0, '/'),
      outcomes({ unanswered: ['https://cdn.test/a.js', 'https://img.test/a.png'], answered: ['https://img.test'] }),
    );
    const plan = history.planFor(at(1, '/one'));
    expect(plan.blocked).to.deep.equal(['https://cdn.test', 'https://img.test/a.png']);
    for (const url of ['https://cdn.test/other.js', 'https://img.test/a.png?size=2']) expect(isBlocked(plan, url), url).to.equal(true);
    for (const url of ['https://img.test/b.png', 'data:text/html,a', 'https://a.test/']) expect(isBlocked(plan, url), url).to.equal(false);
    expect(blockedPatterns(plan, new URL('https://a.test/'))).to.deep.equal(['https://cdn.test/*', 'https://img.test/a.png*']);
  });

  it('never block the page itself', () => {
    const plan = { ...EVERY_WAIT, blocked: ['https://a.test', 'https://a.test/page', 'https://a.test/other'] };
    expect(blockedPatterns(plan, new URL('https://a.test/page?q=1'))).to.deep.equal(['https://a.test/other*']);
  });

  it('name data that is not waited for, without its query', () => {
    const history = createWaitHistory();
    history.record(at(0, '/'), outcomes({ leftOpen: ['https://a.test/poll'] }));
    expect([...history.planFor(at(1, '/one')).leftOpen]).to.deep.equal(['https://a.test/poll']);
    expect([withoutQuery('https://a.test/poll?x=1#y'), withoutQuery('data:,x'), withoutQuery('blob:https://a.test/1')]).to.deep.equal([
      'https://a.test/poll',
      null,
      null,
    ]);
  });

  it('plan a second visit of the same page without what did not arrive for the first one', () => {
    const again = planAgain(EVERY_WAIT, outcomes({ unanswered: ['https://cdn.test/a.js'], hangsOnScroll: true }));
    expect(again).to.deep.include({ blocked: ['https://cdn.test'], hangsOnScroll: true, skips: EVERY_WAIT.skips });
  });
});
