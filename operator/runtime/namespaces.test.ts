import { expect } from 'chai';
import { PARTS, useWidgetManagers, WIDGETS, widget } from '../../test/support/widget-manager.ts';

describe('states', () => {
  const setUp = useWidgetManagers();

  it('reconciles the objects of readable namespaces although another namespace is forbidden from the start', async () => {
    const { api, run, gathered, manager, logger } = setUp({ acrossNamespaces: true });
    api.forbidden.add('two');
    api.put(WIDGETS, widget('a', 0));
    api.put(WIDGETS, widget('b', 0, 'two'));
    await run();
    expect([...gathered]).to.deep.equal(['one/a']);
    expect([...manager.namespaces.unreadable().keys()]).to.deep.equal(['two']);
    expect(logger.lines.find(({ message }) => message === 'caches synced')?.fields).to.include({ objects: 1 });
    expect(logger.lines.filter(({ message }) => message.startsWith('cannot read namespace'))).to.have.length(1);
  });

  it('reconciles the objects of a namespace when it becomes readable', async () => {
    const { api, run, gathered, manager, clock } = setUp();
    api.forbidden.add('two');
    api.put(WIDGETS, widget('b', 0, 'two'));
    await run();
    expect([...gathered]).to.deep.equal([]);
    api.forbidden.delete('two');
    await clock.advance(10_000);
    expect([...gathered]).to.deep.equal(['two/b']);
    expect(manager.namespaces.unreadable().size).to.equal(0);
  });

  it('waits for every cache of a namespace before it reconciles an object of it', async () => {
    const { api, run, gathered, clock } = setUp();
    api.refuseList = (path) => path.startsWith('parts/one');
    api.put(WIDGETS, widget('a', 0));
    api.put(WIDGETS, widget('b', 0, 'two'));
    await run();
    expect([...gathered]).to.deep.equal(['two/b']);
    api.refuseList = () => false;
    await clock.advance(10_000);
    expect([...gathered]).to.deep.equal(['two/b', 'one/a']);
  });

  it('reconciles an urgent key without waiting for its namespace', async () => {
    const { api, run, gathered } = setUp({ isUrgent: (key) => key === 'one/a' });
    api.refuseList = (path) => path.startsWith('parts/one');
    api.put(WIDGETS, widget('a', 0));
    api.put(WIDGETS, widget('b', 0));
    await run();
    expect([...gathered]).to.deep.equal(['one/a']);
  });

  it('does not wait for an optional cache', async () => {
    const { api, run, gathered, manager } = setUp();
    manager.watch({ resource: { ...PARTS, plural: 'notes' }, namespaces: ['one'], optional: true });
    api.refuseList = (path) => path.startsWith('notes/');
    api.put(WIDGETS, widget('a', 0));
    await run();
    expect([...gathered]).to.deep.equal(['one/a']);
    expect(manager.namespaces.unreadable().size).to.equal(0);
  });

  it('tells the owner of an optional cache whether it was listed', async () => {
    const { api, run, manager, clock } = setUp();
    const results: string[] = [];
    const onListed = (error: unknown, failures: number) => void results.push(error === null ? 'listed' : `failed ${failures}`);
    manager.watch({ resource: { ...PARTS, plural: 'notes' }, namespaces: [], optional: true, onListed });
    api.refuseList = (path) => path.startsWith('notes');
    await run();
    expect(results).to.deep.equal(['failed 1']);
    api.refuseList = () => false;
    await clock.advance(2_000);
    expect(results).to.deep.equal(['failed 1', 'listed']);
  });

  it('starts a controller across namespaces at the sync deadline if a list hangs', async () => {
    const { api, run, gathered, clock, manager } = setUp({ acrossNamespaces: true });
    api.hangList = (path) => path.startsWith('widgets/two');
    api.put(WIDGETS, widget('a', 0));
    await run();
    expect([...gathered]).to.deep.equal([]);
    await clock.advance(15_000);
    expect([...gathered]).to.deep.equal(['one/a']);
    expect(manager.namespaces.unreadable().get('two')?.message).to.match(/not listed within 15 s/);
  });
});
