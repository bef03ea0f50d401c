import { expect } from 'chai';
import { lineOf, showProgress } from './progress.ts';
import { terminalOf, type Terminal } from './terminal.ts';

const terminal = (change: Partial<Terminal> = {}): Terminal & { text: string } => {
  const one = {
    live: false,
    color: false,
    unicode: true,
    columns: () => 80,
    text: '',
    write: (text: string) => void (one.text += text),
    ...change,
  };
  return one;
};

describe('progress', () => {
  it('prints a line for each phase and each tenth of the pages if lines cannot be redrawn', () => {
    const out = terminal();
    const view = showProgress(out);
    view.step({ phase: 'queued', pages: null });
    view.step({ phase: 'queued', pages: null });
    for (let scanned = 0; scanned <= 40; scanned += 1) view.step({ phase: 'scanning', pages: { scanned, total: 40 } });
    view.step({ phase: 'done', pages: { scanned: 40, total: 40 } });
    view.end();
    expect(out.text.split('\n').filter(Boolean)).to.deep.equal([
      'queued',
      ...Array.from({ length: 11 }, (_, tenth) => `scanning ${tenth * 4} of 40 pages`),
      'done 40 of 40 pages',
    ]);
  });

  it('redraws one line on a terminal and removes it at the end', () => {
    const out = terminal({ live: true });
    const view = showProgress(out, () => 0);
    view.step({ phase: 'scanning', pages: { scanned: 1, total: 2 } });
    view.note('something');
    view.end();
    expect(out.text).to.match(/\r\u001b\[2K$/);
    expect(out.text).to.include('something\n').and.to.include('1 of 2 pages');
    expect(out.text.replaceAll('something\n', '')).to.not.include('\n');
  });

  for (const live of [true, false])
    it(`quotes no command of a CI system or terminal in a notice of a ${live ? 'live' : 'plain'} view`, () => {
      const out = terminal({ live });
      const view = showProgress(out, () => 0);
      for (const text of ['http://a.example/##vso[task.setvariable x]1', 'a\n::error::b', ' ::add-mask::c', '#\u200b#[group]d\u001b[2J'])
        view.note(text);
      expect(out.text.replaceAll('\r\u001b[2K', '')).to.equal(
        'http://a.example/# #vso[task.setvariable x]1\na ::error::b\n : :add-mask::c\n# #[group]d [2J\n',
      );
    });

  it('fits a terminal of any width', () => {
    const step = { phase: 'aggregating' as const, pages: { scanned: 123, total: 500 } };
    for (const columns of [1, 10, 20, 40, 60, 80, 200]) {
      const line = lineOf(step, '|', 4321, terminal({ columns: () => columns }));
      expect(line.length, line).to.be.at.most(Math.max(0, columns - 1));
    }
    expect(lineOf(step, '|', 3, terminal())).to.equal('| aggregating  ██████░░░░░░░░░░░░░░░░░░  123 of 500 pages  3 s');
    expect(lineOf(step, '|', 3, terminal({ unicode: false }))).to.include('######....');
  });
});

describe('terminal', () => {
  const of = (isTTY: boolean, environment: Record<string, string>) => {
    const { live, color, unicode } = terminalOf({ isTTY, write: () => true }, environment);
    return { live, color, unicode };
  };
  it('has colours and a live line only if it is a TTY', () => {
    expect(of(true, { LANG: 'de_DE.UTF-8' })).to.deep.equal({ live: true, color: true, unicode: true });
    expect(of(false, { LANG: 'C' })).to.deep.equal({ live: false, color: false, unicode: false });
    expect(of(true, { TERM: 'dumb' })).to.deep.include({ live: false, color: false });
  });
  it('has no colours with NO_COLOR and no live line in CI', () => {
    expect(of(true, { NO_COLOR: '1' })).to.deep.include({ live: true, color: false });
    expect(of(true, { CI: 'true' })).to.deep.include({ live: false });
  });
});
