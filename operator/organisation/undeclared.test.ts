import { expect } from 'chai';
import { contextOf } from '../../test/support/operator-context.ts';
import type { OrganisationResource } from '../../core/protocol/organisation-resources.ts';
import { createFakeClock } from '../../test/support/fake-clock.ts';
import { createFakeLogger } from '../../test/support/fake-logger.ts';
import type { ConditionUpdate } from '../runtime/conditions.ts';
import { createUndeclared, DECLARED_WITHIN_MS } from './declared-webhooks.ts';

const resource = (name: string, generation: number, metadata: object = {}) =>
  ({ metadata: { name, uid: `u-${name}`, generation, ...metadata }, spec: {} }) as OrganisationResource;

describe('organisations whose webhooks are not declared', () => {
  let listed: OrganisationResource[];
  let condition: ConditionUpdate | null;
  const setUp = () => {
    listed = [];
    condition = { type: 'OrganisationsReadable', status: 'True', reason: 'Readable', message: '' };
    const [clock, logger] = [createFakeClock(), createFakeLogger()];
    const readability = { condition: () => condition };
    return { clock, logger, undeclared: createUndeclared(contextOf({ clock, logger }), () => listed, readability) };
  };

  it('are those of which no version, or an older one, was declared', () => {
    const { undeclared } = setUp();
    listed = [resource('a', 1), resource('b', 1), resource('gone', 2, { deletionTimestamp: '2026-03-02T11:00:00Z' })];
    expect(undeclared.organisations()).to.deep.equal(['a', 'b']);
    for (const one of listed) undeclared.declared(one);
    expect(undeclared.organisations()).to.deep.equal([]);
    listed = [resource('a', 2), resource('b', 1)];
    expect(undeclared.organisations()).to.deep.equal(['a']);
    undeclared.forget('b');
    expect(undeclared.organisations()).to.deep.equal(['a', 'b']);
  });

  it('make events wait for a minute at most, however often the manifest changes, which the log says once', async () => {
    const { clock, logger, undeclared } = setUp();
    listed = [resource('a', 1)];
    expect(undeclared.organisations()).to.deep.equal(['a']);
    await clock.advance(DECLARED_WITHIN_MS);
    for (let twice = 0; twice < 2; twice += 1) expect(undeclared.organisations()).to.deep.equal([]);
    listed = [resource('a', 2)];
    expect(undeclared.organisations()).to.deep.equal([]);
    expect(logger.lines).to.have.lengthOf(1);
    undeclared.declared(listed[0]!);
    listed = [resource('a', 3)];
    expect(undeclared.organisations(), 'after a version was declared').to.deep.equal(['a']);
  });

  it('are all while the resources were never listed, for a minute at most', async () => {
    const { clock, undeclared } = setUp();
    condition = null;
    expect(undeclared.organisations()).to.equal(null);
    await clock.advance(DECLARED_WITHIN_MS);
    expect(undeclared.organisations()).to.deep.equal([]);
  });
});
