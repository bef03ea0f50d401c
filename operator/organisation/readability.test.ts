import { expect } from 'chai';
import { contextOf } from '../../test/support/operator-context.ts';
import { KubernetesError } from '../../platform/kubernetes/kubernetes.ts';
import { createFakeLogger } from '../../test/support/fake-logger.ts';
import { createReadability } from './controller.ts';

describe('whether Organisations are readable', () => {
  const forbidden = new KubernetesError(403, 'Forbidden', 'organisations.curbcut.dev is forbidden');

  function setUp() {
    const logger = createFakeLogger();
    const values: boolean[] = [];
    const readability = createReadability(contextOf({ logger, metrics: { organisationsReadable: (value) => void values.push(value) } }));
    let changes = 0;
    readability.onChange(() => (changes += 1));
    return { logger, values, readability, changes: () => changes };
  }

  it('is unknown until the first list', () => {
    const { readability, values } = setUp();
    expect(readability.condition()).to.equal(null);
    expect(values).to.deep.equal([]);
  });

  it('is False when the API server refuses the list, with the reason and the way out, in one log line', () => {
    const { readability, values, logger, changes } = setUp();
    for (const failures of [1, 2, 3]) readability.listed(forbidden, failures);
    expect(readability.condition()).to.include({ type: 'OrganisationsReadable', status: 'False', reason: 'Unreadable' });
    expect(readability.condition()!.message).to.match(
      /organisations\.curbcut\.dev is forbidden.*Everything else works.*rbac\.organisations.*curbcut-admin/,
    );
    expect([values, changes()]).to.deep.equal([[false], 1]);
    expect(logger.lines.map(({ level, message }) => [level, message])).to.deep.equal([
      ['warn', 'cannot read Organisations, their manifests have no effect'],
    ]);
  });

  it('is False only after three failures in a row of an API server that is down', () => {
    const { readability } = setUp();
    const down = new Error('connect ECONNREFUSED');
    for (const failures of [1, 2]) readability.listed(down, failures);
    expect(readability.condition()).to.equal(null);
    readability.listed(down, 3);
    expect(readability.condition()?.status).to.equal('False');
  });

  it('is True after a list, also after a refusal', () => {
    const { readability, values, changes, logger } = setUp();
    readability.listed(forbidden, 1);
    readability.listed(null, 0);
    readability.listed(null, 0);
    expect(readability.condition()).to.include({ status: 'True', reason: 'Readable' });
    expect([values, changes()]).to.deep.equal([[false, true], 2]);
    expect(logger.lines.at(-1)?.message).to.equal('Organisations are readable again');
  });
});
