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
  it('name the waits that found nothing on pages of the template with the same signals', () => {
    const history = createWaitHistory();
    expect(history.planFor(at(0, '/news/1')).useless).to.deep.equal(new Set());
    history.record(at(0, '/news/1'), outcomes({ waits: [{ key: 'look a', found: false }] }));
    history.record(at(1, '/news/2'), outcomes({ waits: [{ key: 'look b', found: false }] }));
    history.record(at(2, '/news/3'), outcomes({ waits: [{ key: 'look b', found: true }] }));
    expect(history.planFor(at(9, '/news/4')).useless).to.deep.equal(new Set(['look a']));
    expect(history.planFor(at(9, '/other/page'))).to.deep.equal(EVERY_WAIT);
  });

  it('wait less for an element that no page of the template had, and know which pages hang', () => {
    const history = createWaitHistory();
    history.record(at(0, '/news/1'), outcomes({ matched: false, hangsOnScroll: true }));
    expect(history.planFor(at(9, '/news/3'))).to.deep.include({ lacksElement: true, hangsOnScroll: true });
    expect(history.planFor(at(9, '/other/page'))).to.deep.include({ lacksElement: false, hangsOnScroll: false });
    history.record(at(1, '/news/2'), outcomes({ matched: true }));
    expect(history.planFor(at(9, '/news/3')).lacksElement).to.equal(false);
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
    expect(again).to.deep.include({ blocked: ['https://cdn.test'], hangsOnScroll: true });
  });
});
