/** An error that no test meets fails the tests: whoever adds a code adds its test. */
import { dirname } from 'node:path';
import { expect } from 'chai';
import { unseen } from './contract.ts';

/** Every test of this folder, once all have run. */
function testsOfThisFolder(root: Mocha.Suite): Mocha.Test[] {
  const tests: Mocha.Test[] = [];
  root.eachTest((test) => {
    if (test.file !== undefined && dirname(test.file) === import.meta.dirname) tests.push(test);
  });
  return tests;
}

// Outside any describe: this runs after all files.
after('every error code was met by a test', function () {
  const tests = testsOfThisFolder(this.test!.parent!.root ? this.test!.parent! : this.test!.parent!.parent!);
  // With --grep, or after --bail, the rest never had its chance.
  if (tests.some((test) => test.state === undefined)) return;
  expect(unseen(), 'errors without a test').to.deep.equal([]);
});
