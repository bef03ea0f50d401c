import { expect } from 'chai';
import { openStores, type AllStores } from '../../stores/stores.ts';
import { openDatabase } from '../stores/database.ts';
import { openContext, reasonOf, statusOf, until, type OperatorContext } from './context.ts';

describe('operator: two releases on one cluster', function () {
  this.timeout(240_000);
  let context: OperatorContext;
  let database: Awaited<ReturnType<typeof openDatabase>>;
  let others: AllStores;
  beforeEach(async () => {
    context = await openContext();
    await context.grant(100);
    database = await openDatabase();
    others = openStores(database.db);
  });
  afterEach(async () => {
    await context.close();
    await database.close();
  });

  /** The operator of another release, with its own database and class, that watches the same namespaces. */
  const startOther = () => {
    const { namespace, team, strangers } = context;
    const settings = { operatorClass: 'other', namespace: strangers, watchNamespaces: [namespace, team, strangers], maxRunning: 1 };
    return context.start(settings, { stores: others });
  };

  it('leaves scans of another class untouched, also while they are deleted', async () => {
    const ours = await context.apply(context.team);
    const submitted = await context.submit();
    const before = await Promise.all([ours, submitted].map((scan) => scan.read()));
    startOther();
    const theirs = await context.apply(context.team, { class: 'other' });
    // The other release has no organisation for this namespace.
    const failed = await theirs.settles();
    expect(reasonOf(failed, 'Succeeded')).to.equal('NoOrganisation');
    expect(await Promise.all([ours, submitted].map((scan) => scan.read()))).to.deep.equal(before);

    context.start();
    for (const scan of [ours, submitted]) await scan.reaches('admitted', (read) => statusOf(read, 'Admitted') === 'True');
    expect((await theirs.read())?.metadata.resourceVersion).to.equal(failed.metadata.resourceVersion);
    await ours.remove();
    await until('our scan is gone', async () => (await ours.read()) === null);
    expect(await others.scans.find(ours.id)).to.equal(null);
    expect((await ours.row())?.phase).to.equal('canceled');
  });
});
