/** The known issues of manifests: one writer, all at once, beside those over REST. */
import { randomBytes } from 'node:crypto';
import { expect } from 'chai';
import { KNOWN_ISSUES_MAX } from '../../core/scan/known-issues.ts';
import { createKnownIssues, type KnownIssueRow, type KnownIssues } from '../../stores/known-issues/known-issues.ts';
import type { Declaration } from '../../stores/known-issues/manifest-known-issues.ts';
import { useDatabase } from './database.ts';

const NOW = new Date('2030-01-01T00:00:00Z');
const inDays = (days: number): Date => new Date(NOW.getTime() + days * 86_400_000);
const fingerprint = (): string => randomBytes(8).toString('hex');
const issue = (fields: Partial<Declaration['issues'][number]> = {}) => ({
  fingerprint: fingerprint(),
  reason: 'Known',
  owner: 'team',
  expiresAt: inDays(90),
  ...fields,
});

describe('stores: known issues of manifests', () => {
  const database = useDatabase();
  let issues: KnownIssues;
  before(() => void (issues = createKnownIssues(database.db)));

  const ref = (name: string) => ({ operatorClass: 'curbcut', namespace: 'shop', name });
  const declaration = (organisation: string, wanted: Declaration['issues'], fields: Partial<Declaration> = {}): Declaration => ({
    ...ref('accepted'),
    uid: 'u1',
    generation: 1,
    organisation,
    site: 'www.example.org',
    createdAt: NOW,
    issues: wanted,
    ...fields,
  });
  const rest = (organisation: string, fields: Partial<KnownIssueRow> = {}) =>
    issues.add({ organisation, site: 'www.example.org', ...issue(), createdBy: 'ann@example.com', createdAt: NOW, ...fields });
  const all = (organisation: string) => issues.list(organisation, { limit: 1000 });
  /** Removes what a test has stored of `accepted`. */
  async function clear(): Promise<void> {
    await database.db.collection('knownIssues').deleteMany({});
  }
  afterEach(clear);

  it('are listed with their manifest, and neither changed nor removed over REST', async () => {
    expect(await issues.declare(declaration('acme', [issue(), issue({ fingerprint: undefined, rule: 'a', selector: '#b' })]), null, NOW)).to
      .be.true;
    const listed = await all('acme');
    expect(listed.map(({ manifest, createdBy }) => [manifest, createdBy])).to.deep.equal(
      [0, 1].map(() => [{ namespace: 'shop', name: 'accepted' }, 'manifest']),
    );
    for (const one of listed) {
      expect(one.id).to.match(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$/);
      expect(await issues.find('acme', one.id)).to.deep.equal(one);
      expect(await issues.find('globex', one.id)).to.equal(null);
      const refused = { ok: false, reason: 'known_issue_managed_by_manifest', issue: one };
      expect(await issues.change('acme', one.id, { reason: 'Mine' })).to.deep.equal(refused);
      expect(await issues.remove('acme', one.id)).to.deep.equal(refused);
      expect(await issues.remove('globex', one.id)).to.deep.equal({ ok: false, reason: 'known_issue_not_found' });
    }
    expect(await all('acme')).to.deep.equal(listed);
  });

  it('are listed in pages, also if a page ends in the middle of a manifest', async () => {
    await rest('acme', { createdAt: inDays(1) });
    await issues.declare(
      declaration(
        'acme',
        Array.from({ length: 5 }, () => issue()),
      ),
      null,
      NOW,
    );
    await issues.declare(declaration('acme', [issue(), issue()], { ...ref('more'), site: 'other.test' }), null, NOW);
    await rest('acme', { createdAt: inDays(-1), expiresAt: inDays(5) });
    const whole = await all('acme');
    expect(whole).to.have.length(9);
    const paged: KnownIssueRow[] = [];
    for (let last: KnownIssueRow | undefined; ; last = paged.at(-1)) {
      const page = await issues.list('acme', { limit: 2, after: last && { at: last.createdAt, id: last.id } });
      if (page.length === 0) break;
      paged.push(...page);
    }
    expect(paged).to.deep.equal(whole);
    expect((await issues.list('acme', { limit: 10, endsBefore: inDays(5) })).map(({ id }) => id)).to.deep.equal([whole.at(-1)!.id]);
  });

  it('keep their IDs when they change, and only the first of two writers of a version succeeds', async () => {
    const [kept, other] = [issue(), issue()];
    await issues.declare(declaration('acme', [kept, other]), null, NOW);
    const before = (await issues.declared(ref('accepted')))!;
    expect(before).to.include({ revision: 1, live: 2, generation: 1 });
    expect(await issues.declare(declaration('acme', []), null, NOW), 'something is stored').to.equal(false);
    const next = declaration('acme', [{ ...kept, reason: 'Later' }, issue()], { generation: 2 });
    const ids = new Set((await all('acme')).map(({ id }) => id));
    expect(await issues.declare(next, before.revision, NOW)).to.equal(true);
    expect(await issues.declare(declaration('acme', []), before.revision, NOW)).to.equal(false);
    expect(await issues.withdraw(ref('accepted'), before.revision)).to.equal(false);
    const listed = await all('acme');
    expect(listed.filter(({ id }) => ids.has(id)).map(({ reason }) => reason)).to.deep.equal(['Later']);
    expect(await issues.withdraw(ref('accepted'), 2)).to.equal(true);
    expect(await all('acme')).to.deep.equal([]);
  });

  it('are chosen for a scan all or not at all while they are replaced', async () => {
    const sets = [0, 1].map(() => Array.from({ length: 40 }, () => issue()));
    await issues.declare(declaration('acme', sets[0]!), null, NOW);
    /** Which of the two lists a scan has; -1 if it has none of them. */
    async function choose(scan: string): Promise<number> {
      const { issues: chosen } = (await issues.choose(scan, 'acme', ['www.example.org'], NOW))!;
      const found = new Set(chosen.map((one) => one.fingerprint));
      expect(found.size).to.equal(40);
      return sets.findIndex((set) => set.every((one) => found.has(one.fingerprint)));
    }
    expect(await choose('before')).to.equal(0);
    const replacing = (async () => {
      for (let revision = 1; revision <= 31; revision++)
        expect(await issues.declare(declaration('acme', sets[revision % 2]!), revision, NOW)).to.equal(true);
    })();
    for (let scan = 0; scan < 60; scan++) expect(await choose(`atomic-${scan}`)).to.be.at.least(0);
    await replacing;
    expect(await choose('after')).to.equal(1);
  });

  it('are about nothing that another one has, whoever is first', async () => {
    const [byRest, byManifest] = [issue(), issue()];
    const first = await rest('acme', byRest);
    if (!first.ok) throw new Error(first.reason);
    const { holders, free } = await issues.occupied('acme', 'www.example.org', ref('accepted'), NOW);
    expect([...holders]).to.deep.equal([[byRest.fingerprint, first.issue]]);
    expect(free).to.equal(KNOWN_ISSUES_MAX - 1);
    expect(await issues.declare(declaration('acme', [byRest]), null, NOW), 'the claim decides, not the question').to.equal(false);
    await issues.declare(declaration('acme', [byManifest]), null, NOW);
    const refused = await rest('acme', byManifest);
    expect(refused).to.deep.include({ ok: false, reason: 'known_issue_exists' });
    expect(!refused.ok && refused.reason === 'known_issue_exists' && refused.existing.manifest).to.deep.equal({
      namespace: 'shop',
      name: 'accepted',
    });
    const second = await issues.occupied('acme', 'www.example.org', ref('second'), NOW);
    expect([...second.holders.keys()]).to.have.members([byRest.fingerprint, byManifest.fingerprint]);
    const elsewhere = declaration('acme', [byManifest], { ...ref('second'), site: 'other.test' });
    expect(await issues.declare(elsewhere, null, NOW), 'another site').to.equal(true);
  });

  it('give way to each other when they have ended', async () => {
    const [byRest, byManifest] = [issue({ expiresAt: inDays(1) }), issue({ expiresAt: inDays(1) })];
    await rest('acme', byRest);
    await issues.declare(declaration('acme', [byManifest]), null, NOW);
    const later = inDays(2);
    const { holders } = await issues.occupied('acme', 'www.example.org', ref('accepted'), later);
    expect([...holders]).to.deep.equal([]);
    const wanted = [byManifest, { ...byRest, expiresAt: inDays(9) }];
    expect(await issues.declare(declaration('acme', wanted), 1, later)).to.equal(true);
    expect(await issues.declared(ref('accepted'))).to.include({ live: 1 });
    expect(await rest('acme', { ...byManifest, createdAt: later, expiresAt: inDays(9) })).to.deep.include({ ok: true });
    expect(await all('acme'), 'the ended one of the manifest stays in the list').to.have.length(3);
  });

  it('share the limit of the site', async () => {
    const many = Array.from({ length: KNOWN_ISSUES_MAX - 1 }, () => issue());
    expect(await issues.declare(declaration('acme', many), null, NOW)).to.equal(true);
    await rest('acme');
    expect((await issues.occupied('acme', 'www.example.org', ref('second'), NOW)).free).to.equal(0);
    expect(await rest('acme')).to.deep.equal({ ok: false, reason: 'too_many_known_issues' });
    expect(await issues.declare(declaration('acme', [issue()], ref('second')), null, NOW)).to.equal(false);
    const ended = declaration('acme', [issue({ expiresAt: NOW })], ref('second'));
    expect(await issues.declare(ended, null, NOW), 'ended ones need no place').to.equal(true);
    expect(await issues.declare({ ...ended, ...ref('third') }, null, NOW), 'nor exclude each other').to.equal(true);
    expect((await issues.declaredOf('curbcut')).map(({ name }) => name)).to.have.members(['accepted', 'second', 'third']);
    expect(await issues.declaredOf('other')).to.deep.equal([]);
  });
});
