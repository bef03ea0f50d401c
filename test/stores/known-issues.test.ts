import { expect } from 'chai';
import { KNOWN_ISSUES_MAX } from '../../core/scan/known-issues.ts';
import { createKnownIssues, type KnownIssueRow, type KnownIssues } from '../../stores/known-issues/known-issues.ts';
import { useDatabase } from './database.ts';

const NOW = new Date('2030-01-01T00:00:00Z');
const inDays = (days: number): Date => new Date(NOW.getTime() + days * 86_400_000);

describe('stores: known issues', () => {
  const database = useDatabase();
  let issues: KnownIssues;
  before(() => void (issues = createKnownIssues(database.db)));
  const add = async (fields: Partial<KnownIssueRow> = {}): Promise<KnownIssueRow> => {
    const added = await issues.add({
      organisation: 'acme',
      site: 'www.example.org',
      fingerprint: '0123456789abcdef',
      reason: 'Known',
      owner: 'team',
      expiresAt: inDays(90),
      createdBy: 'ann@example.com',
      createdAt: NOW,
      ...fields,
    });
    if (!added.ok) throw new Error(added.reason);
    return added.issue;
  };

  it('belong to one organisation, and can be changed and removed', async () => {
    const issue = await add({ organisation: 'initech' });
    expect(await issues.find('initech', issue.id)).to.deep.equal(issue);
    for (const found of [issues.find, issues.remove]) expect(await found('globex', issue.id)).to.equal(null);
    expect(await issues.change('globex', issue.id, { reason: 'Other' })).to.equal(null);
    const changed = { ...issue, reason: 'Later', expiresAt: inDays(120) };
    expect(await issues.change('initech', issue.id, { reason: 'Later', expiresAt: inDays(120) })).to.deep.equal(changed);
    expect(await issues.list('globex', { limit: 10 })).to.deep.equal([]);
    expect(await issues.remove('initech', issue.id)).to.deep.equal(changed);
    expect(await issues.find('initech', issue.id)).to.equal(null);
  });

  it('are listed newest first, in pages, by site and end', async () => {
    const organisation = 'umbrella';
    const rows: KnownIssueRow[] = [];
    for (const at of [0, 1, 2])
      rows.push(
        await add({ organisation, createdAt: inDays(at), expiresAt: inDays(10 * at + 5), site: at === 2 ? 'shop.test' : 'www.test' }),
      );
    const ids = async (page: Omit<Parameters<KnownIssues['list']>[1], 'limit'>, limit = 10) =>
      (await issues.list(organisation, { ...page, limit })).map(({ id }) => rows.findIndex((row) => row.id === id));
    expect(await ids({})).to.deep.equal([2, 1, 0]);
    expect(await ids({ after: { at: rows[2]!.createdAt, id: rows[2]!.id } }, 1)).to.deep.equal([1]);
    expect(await ids({ site: 'www.test' })).to.deep.equal([1, 0]);
    expect(await ids({ endsBefore: inDays(15) })).to.deep.equal([1, 0]);
  });

  it('are chosen for a scan once: live ones of its sites and organisation', async () => {
    const organisation = 'hooli';
    const live = await add({ organisation });
    const preview = await add({ organisation, site: 'preview.test', fingerprint: undefined, rule: 'image-alt', selector: '#a' });
    await add({ organisation, expiresAt: NOW });
    await add({ organisation, site: 'other.test' });
    await add({ organisation: 'globex' });
    expect(await issues.chosenFor('scan-1')).to.equal(undefined);
    const [chosen, again] = await Promise.all([1, 2].map(() => issues.choose('scan-1', organisation, [live.site, preview.site], NOW)));
    expect(chosen).to.deep.equal({
      at: NOW.toISOString(),
      leftOut: 0,
      issues: [live, preview]
        .sort((a, b) => (a.id < b.id ? -1 : 1))
        .map(({ id, fingerprint, rule, selector, reason, owner, expiresAt }) => ({
          id,
          ...(fingerprint === undefined ? { rule, selector } : { fingerprint }),
          reason,
          owner,
          expiresAt: expiresAt.toISOString(),
        })),
    });
    expect(again).to.deep.equal(chosen);
    await issues.remove(organisation, live.id);
    expect(await issues.choose('scan-1', organisation, [live.site], inDays(1)), 'the Job is created again').to.deep.equal(chosen);
    expect(await issues.chosenFor('scan-1')).to.deep.equal(chosen);
    expect(await issues.choose('scan-2', 'nobody', [live.site], NOW)).to.equal(undefined);
    await add({ organisation: 'nobody' });
    expect(await issues.choose('scan-2', 'nobody', [live.site], NOW), 'none were chosen').to.equal(undefined);
    expect(await issues.chosenFor('scan-2')).to.equal(undefined);
  });

  it('have a limit for each site, also if many are added at the same time', async () => {
    const organisation = 'many';
    for (let at = 0; at < KNOWN_ISSUES_MAX - 2; at++)
      await database.db
        .collection<{ _id: string }>('knownIssues')
        .insertOne({ _id: `many-${at}`, ...{ organisation, site: 'www.example.org', slot: at, expiresAt: inDays(90) } });
    const added = await Promise.allSettled(Array.from({ length: 6 }, () => add({ organisation })));
    expect(added.filter(({ status }) => status === 'fulfilled')).to.have.length(2);
    expect(String((added.find(({ status }) => status === 'rejected') as PromiseRejectedResult).reason)).to.include('too_many_known_issues');
    await add({ organisation, site: 'other.test' });
  });

  it('are added once by a repeated call, also if the site is full by then', async () => {
    const organisation = 'repeated';
    const site = 'full.test';
    const id = 'repeated-issue';
    const issue = { organisation, site, fingerprint: '0123456789abcdef', reason: 'x', owner: 'x', createdBy: 'x', createdAt: NOW };
    const first = await issues.add({ ...issue, expiresAt: inDays(1) }, id);
    expect(first).to.deep.include({ ok: true });
    const taken = (await database.db.collection('knownIssues').findOne({ organisation }))!.slot as number;
    const rest = Array.from({ length: KNOWN_ISSUES_MAX }, (_, slot) => slot).filter((slot) => slot !== taken);
    await database.db
      .collection<{ _id: string }>('knownIssues')
      .insertMany(rest.map((slot) => ({ _id: `full-${slot}`, ...{ organisation, site, slot, expiresAt: inDays(90) } })));
    expect(await issues.add({ ...issue, reason: 'Later', expiresAt: inDays(2) }, id)).to.deep.equal(first);
    expect(await issues.add({ ...issue, expiresAt: inDays(1) }, 'another')).to.deep.equal({ ok: false, reason: 'too_many_known_issues' });
  });
});
