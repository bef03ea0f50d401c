import { expect } from 'chai';
import { blockedPatterns, createLessons, emptyLesson, isBlocked, PATIENT, planAgain, withoutQuery, type Lesson } from './lessons.ts';

const lesson = (more: Partial<Lesson>): Lesson => ({ ...emptyLesson(), ...more });
const at = (position: number, path: string, knows = position - 1) => ({ position, knows, url: new URL(path, 'https://a.test') });

describe('lessons of a scan', () => {
  it('skip a wait that ended in nothing on pages of the template', () => {
    const lessons = createLessons();
    expect(lessons.planFor(at(0, '/news/1')).skips).to.deep.equal(new Set());
    lessons.record(at(0, '/news/1'), lesson({ inVain: ['work', 'scroll'] }));
    expect(lessons.planFor(at(9, '/news/2')).skips).to.deep.equal(new Set(['work', 'scroll']));
    expect(lessons.planFor(at(9, '/other/page'))).to.deep.equal(PATIENT);
  });

  it('do not skip a wait that led to something on one of them', () => {
    const lessons = createLessons();
    lessons.record(at(0, '/news/1'), lesson({ inVain: ['scroll', 'messages'], hangsOnScroll: true }));
    lessons.record(at(1, '/news/2'), lesson({ found: ['scroll'] }));
    const plan = lessons.planFor(at(9, '/news/3'));
    expect(plan).to.deep.include({ skips: new Set(['messages']), found: new Set(['scroll']), hangsOnScroll: true });
    expect(lessons.planFor(at(9, '/other/page')).hangsOnScroll).to.equal(false);
  });

  it('are used up to the position that the page may know, and not beyond', () => {
    const lessons = createLessons();
    lessons.record(at(3, '/news/1'), lesson({ silent: ['https://cdn.test/a.js'] }));
    for (const knows of [-1, 0, 2]) expect(lessons.planFor(at(9, '/news/2', knows))).to.deep.equal(PATIENT);
    expect(lessons.planFor(at(9, '/news/2', 3)).blocked).to.deep.equal(['https://cdn.test']);
  });

  it('do not ask a host again that never answered; of other hosts only what did not arrive', () => {
    const lessons = createLessons();
    lessons.record(at(0, '/'), lesson({ silent: ['https://cdn.test/a.js', 'https://img.test/a.png'], answered: ['https://img.test'] }));
    const plan = lessons.planFor(at(1, '/one'));
    expect(plan.blocked).to.deep.equal(['https://cdn.test', 'https://img.test/a.png']);
    for (const url of ['https://cdn.test/other.js', 'https://img.test/a.png?size=2']) expect(isBlocked(plan, url), url).to.equal(true);
    for (const url of ['https://img.test/b.png', 'data:text/html,a', 'https://a.test/']) expect(isBlocked(plan, url), url).to.equal(false);
    expect(blockedPatterns(plan, new URL('https://a.test/'))).to.deep.equal(['https://cdn.test/*', 'https://img.test/a.png*']);
  });

  it('never block the page itself', () => {
    const plan = { ...PATIENT, blocked: ['https://a.test', 'https://a.test/page', 'https://a.test/other'] };
    expect(blockedPatterns(plan, new URL('https://a.test/page?q=1'))).to.deep.equal(['https://a.test/other*']);
  });

  it('name data that is not waited for, without its query', () => {
    const lessons = createLessons();
    lessons.record(at(0, '/'), lesson({ leftOpen: ['https://a.test/poll'] }));
    expect([...lessons.planFor(at(1, '/one')).leftOpen]).to.deep.equal(['https://a.test/poll']);
    expect([withoutQuery('https://a.test/poll?x=1#y'), withoutQuery('data:,x'), withoutQuery('blob:https://a.test/1')]).to.deep.equal([
      'https://a.test/poll',
      null,
      null,
    ]);
  });

  it('plan a second visit of the same page without what the first one waited for in vain', () => {
    const again = planAgain(PATIENT, lesson({ silent: ['https://cdn.test/a.js'], hangsOnScroll: true }));
    expect(again).to.deep.include({ blocked: ['https://cdn.test'], hangsOnScroll: true, skips: PATIENT.skips });
  });
});
