import { expect } from 'chai';
import { testsReachedBy, type Graph } from './reach.ts';

describe('tests that a change reaches', () => {
  const graph: Graph = new Map([
    ['core/a.ts', []],
    ['core/b.ts', ['core/a.ts']],
    ['core/b.test.ts', ['core/b.ts']],
    ['api/main.ts', ['api/app.ts']],
    ['api/app.ts', ['core/b.ts', 'api/errors.ts']],
    ['api/errors.ts', []],
    ['api/assets/page.js', ['api/assets/parts.js']],
    ['api/assets/parts.js', []],
    ['test/api/app.test.ts', ['api/app.ts']],
    ['test/api/errors.test.ts', ['api/errors.ts']],
    ['test/api/fake.ts', []],
  ]);
  const tests = ['core/b.test.ts', 'test/api/app.test.ts', 'test/api/errors.test.ts', 'test/facts/docs.test.ts', 'test/gitops/lua.test.ts'];
  const reached = (...changed: string[]): string[] => [...testsReachedBy(changed, graph, tests)];
  const [b, app, errors, docs, lua] = tests as [string, string, string, string, string];

  const cases: readonly [what: string, changed: string[], tests: string[]][] = [
    ['through imports, and the facts of a package', ['core/a.ts'], [b, app, errors, docs]],
    ['only above what changed', ['test/api/errors.test.ts'], [errors]],
    ['of the folder of a program that nothing imports', ['api/main.ts'], [app, errors, docs]],
    ['of the folder above, if tests import nothing of the folder', ['api/assets/parts.js'], [app, errors, docs]],
    ['of the modules beside a file that is no module, or is gone', ['core/texts.json'], [b, app, errors, docs]],
    ['that read a file', ['docs/scanning.md'], [docs, lua]],
    ['of each change', ['test/api/errors.test.ts', 'docs/scanning.md'], [errors, docs, lua]],
    ['of a file that no rule knows: all', ['package-lock.json'], tests],
    ['of no change: none', [], []],
  ];
  for (const [what, changed, expected] of cases) it(`are those ${what}`, () => expect(reached(...changed)).to.deep.equal(expected));
});
