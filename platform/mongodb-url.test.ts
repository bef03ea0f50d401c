import { expect } from 'chai';
import { mongodbUrlProblems } from './mongodb-url.ts';

const SERVER = 'mongodb://user:hush@db1:27017,db2/curbcut';

describe('options of a MongoDB connection string', () => {
  for (const option of [
    'readPreference=secondaryPreferred',
    'readPreference=primaryPreferred',
    'READPREFERENCE=nearest',
    'readPreferenceTags=dc:east',
    'maxStalenessSeconds=90',
    'readConcernLevel=available',
    'w=1',
    'w=0',
    'w=3',
    'w=some-tag',
    'journal=false',
    'j=false',
    'fsync=false',
    'retryWrites=false',
    'retryReads=false',
  ])
    it(`rejects ${option}, names the option and what is allowed, and hides the rest`, () => {
      const [problem, ...others] = mongodbUrlProblems(`${SERVER}?appName=x&${option}`);
      expect(others).to.deep.equal([]);
      expect(problem).to.match(new RegExp(`^MONGODB_URL sets ${option}; it must be .*, because`));
      expect(problem).to.not.match(/hush|db1|appName/);
    });

  it('reports every option', () => {
    expect(mongodbUrlProblems(`${SERVER}?w=1&readPreference=secondary&w=majority`)).to.have.lengthOf(2);
  });

  it('accepts the options that the service sets, and every other', () => {
    for (const query of [
      '',
      '?',
      '?readPreference=primary&w=majority&journal=true&retryWrites=true&retryReads=true',
      '?readPreference=PRIMARY&readConcernLevel=majority&wtimeoutMS=500',
      '?replicaSet=rs0&tls=true&authSource=admin&maxPoolSize=5&directConnection=true',
    ])
      expect(mongodbUrlProblems(`${SERVER}${query}`), query).to.deep.equal([]);
  });
});
