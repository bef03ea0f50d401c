/** Fails the run if no test provokes one of the error codes. */
import { dirname } from 'node:path';
import { expect } from 'chai';
import { untestedErrors } from './contract.ts';

/** Returns every test of this folder. */
function testsOfThisFolder(root: Mocha.Suite): Mocha.Test[] {
  const tests: Mocha.Test[] = [];
  root.eachTest((test) => {
    if (test.file !== undefined && dirname(test.file) === import.meta.dirname) tests.push(test);
  });
  return tests;
}

// Outside any describe: this runs after all files.
after('every error code occurs in a test', function () {
  const tests = testsOfThisFolder(this.test!.parent!.root ? this.test!.parent! : this.test!.parent!.parent!);
  // With --grep or after --bail, some tests did not run.
  if (tests.some((test) => test.state === undefined)) return;
  expect(untestedErrors(), 'errors without a test').to.deep.equal([]);
});
