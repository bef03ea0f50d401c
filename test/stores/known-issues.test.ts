import { randomBytes } from 'node:crypto';
import { expect } from 'chai';
import { type KnownIssueExample, KNOWN_ISSUES_MAX } from '../../core/scan/known-issues.ts';
import { createKnownIssues, type KnownIssuePage, type KnownIssueRow, type KnownIssues } from '../../stores/known-issues/known-issues.ts';
import { useDatabase } from './database.ts';

const NOW = new Date('2030-01-01T00:00:00Z');
const inDays = (days: number): Date => new Date(NOW.getTime() + days * 86_400_000);

describe('stores: known issues', () => {
  const database = useDatabase();
  let issues: KnownIssues;
  before(() => void (issues = createKnownIssues(database.db)));
  /** Each is about another root cause. */
  const fingerprint = () => randomBytes(8).toString('hex');
  const add = async (fields: Partial<KnownIssueRow> = {}): Promise<KnownIssueRow> => {
    const added = await issues.add({
      organisation: 'acme',
      site: 'www.example.org',
      fingerprint: fingerprint(),
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
    const missing = { ok: false, reason: 'known_issue_not_found' };
    expect(await issues.find('globex', issue.id)).to.equal(null);
    expect(await issues.remove('globex', issue.id)).to.deep.equal(missing);
    expect(await issues.change('globex', issue.id, { reason: 'Other' })).to.deep.equal(missing);
    const changed = { ...issue, reason: 'Later', expiresAt: inDays(120) };
    const change = { reason: 'Later', expiresAt: inDays(120) };
    expect(await issues.change('initech', issue.id, change)).to.deep.equal({ ok: true, issue: changed });
    expect(await issues.list('globex', { limit: 10 })).to.deep.equal([]);
    expect(await issues.remove('initech', issue.id)).to.deep.equal({ ok: true, issue: changed });
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
      await database.db.collection<{ _id: string }>('knownIssues').insertOne({
        _id: `many-${at}`,
        ...{ organisation, site: 'www.example.org', slots: [`${organisation}/www.example.org/${at}`], expiresAt: inDays(90) },
      });
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
    const taken = Number((await database.db.collection('knownIssues').findOne({ organisation }))!.slots[0].split('/').at(-1));
    const rest = Array.from({ length: KNOWN_ISSUES_MAX }, (_, slot) => slot).filter((slot) => slot !== taken);
    await database.db.collection<{ _id: string }>('knownIssues').insertMany(
      rest.map((slot) => ({
        _id: `full-${slot}`,
        ...{ organisation, site, slots: [`${organisation}/${site}/${slot}`], expiresAt: inDays(90) },
      })),
    );
    expect(await issues.add({ ...issue, reason: 'Later', expiresAt: inDays(2) }, id)).to.deep.equal(first);
    const another = { ...issue, fingerprint: fingerprint(), expiresAt: inDays(1) };
    expect(await issues.add(another, 'another')).to.deep.equal({ ok: false, reason: 'too_many_known_issues' });
  });

  it('are accepted once for a root cause of a site, by whoever is first, until the first one has ended', async () => {
    const organisation = 'twice';
    const first = await add({ organisation });
    const { id: _, manifest: __, ...same } = first;
    const other = { ...same, createdBy: 'bob@example.com', createdAt: inDays(1) };
    expect(await issues.add(other)).to.deep.equal({ ok: false, reason: 'known_issue_exists', existing: first });
    await add({ ...other, site: 'other.test' });
    const added = await Promise.all([91, 91].map((at) => issues.add({ ...other, createdAt: inDays(at), expiresAt: inDays(120) })));
    expect(added.map(({ ok }) => ok).sort(), 'one of two at the same time takes the place of the ended one').to.deep.equal([false, true]);
    expect(await issues.find(organisation, first.id)).to.equal(null);
  });

  it('have what the newest scan of their site says', async () => {
    const example = (scanId: string): KnownIssueExample => ({
      ...{ scanId, fingerprint: 'f', rule: 'r', impact: 'minor', selector: 'p', pageUrl: 'https://matched.test/' },
      ...{ elements: 1, pages: 1 },
    });
    const matches = (scanId: string, day: number) => ({ scanId, at: inDays(day), unmatched: [scanId], examples: {} });
    expect(await issues.matchesOf('acme', 'matched.test')).to.equal(null);
    await issues.recordMatches('acme', 'matched.test', matches('a', 1));
    await Promise.all([matches('c', 3), matches('b', 2)].map((one) => issues.recordMatches('acme', 'matched.test', one)));
    expect(await issues.matchesOf('acme', 'matched.test')).to.deep.equal(matches('c', 3));
    expect(await issues.matchesOf('globex', 'matched.test')).to.equal(null);
    await issues.recordMatches('acme', 'matched.test', { ...matches('e', 4), examples: { gone: example('e'), kept: example('e') } });
    await issues.recordMatches('acme', 'matched.test', { ...matches('f', 5), unmatched: ['kept'], examples: { other: example('f') } });
    const { examples } = (await issues.matchesOf('acme', 'matched.test'))!;
    expect(examples, 'what matches nothing keeps its earlier example').to.deep.equal({ kept: example('e'), other: example('f') });
    await issues.recordMatches('acme', 'other.test:8443', matches('d', 1));
    const several = await issues.matchesOfSites('acme', ['matched.test', 'other.test:8443', 'nothing.test']);
    expect([...several]).to.have.deep.members([
      ['matched.test', { scanId: 'f', at: inDays(5), unmatched: ['kept'], examples }],
      ['other.test:8443', matches('d', 1)],
    ]);
  });

  it('are listed if they matched nothing in the newest scan of their own site, in parts', async () => {
    const organisation = 'unmatched';
    const [a, b, matched] = [await add({ organisation, createdAt: inDays(3) }), await add({ organisation }), await add({ organisation })];
    const other = await add({ organisation, site: 'other.test', createdAt: inDays(1) });
    const foreign = await add({ organisation: `${organisation}-too` });
    const list = async (page: Partial<KnownIssuePage> = {}) =>
      (await issues.list(organisation, { unmatched: true, limit: 10, ...page })).map(({ id }) => id);
    const say = (of: string, site: string, unmatched: string[]) =>
      issues.recordMatches(of, site, { scanId: 's', at: inDays(1), unmatched });
    expect(await list()).to.deep.equal([]);
    await say(organisation, a.site, [a.id, b.id, other.id]);
    await say(`${organisation}-too`, a.site, [foreign.id, matched.id]);
    expect(await list()).to.deep.equal([a.id, b.id]);
    await say(organisation, other.site, [other.id]);
    expect(await list()).to.deep.equal([a.id, other.id, b.id]);
    expect(await list({ site: other.site })).to.deep.equal([other.id]);
    expect(await list({ limit: 1, after: { at: a.createdAt, id: a.id } })).to.deep.equal([other.id]);
    await issues.recordMatches(organisation, a.site, { scanId: 't', at: inDays(2), unmatched: [] });
    expect(await list()).to.deep.equal([other.id]);
  });
});
