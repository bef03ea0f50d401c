/** MONGODB_URL replaces the embedded document store in every suite that uses a database. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { filesOf } from '../runner/suites.ts';

const ROOT = join(import.meta.dirname, '..', '..');

/** May start the embedded store themselves, because they test it, offer it, start it late, stop its process, need faults that MongoDB has
 * not, or put TLS before it. */
const OWN_STORE = [
  /^local\//,
  /^test\/cluster\/(documents-process|services)\.ts$/,
  /^test\/support\/databases\.ts$/,
  /^test\/stores\/(mongo-options|outage|private-authority)\.test\.ts$/,
  /^test\/stores\/failover\/faulty-server\.ts$/,
  /^test\/facts\//,
];

describe('suites that use a database', () => {
  it('open it through test/support/databases.ts, which honours MONGODB_URL', () => {
    const others = filesOf(['**/*.ts'])
      .filter((path) => !OWN_STORE.some((pattern) => pattern.test(path)))
      .filter((path) => /\bstartDocuments\b/.test(readFileSync(join(ROOT, path), 'utf8')));
    expect(others).to.deep.equal([]);
  });
});
