/** The sites of organisations, against a plain model over an array. */
import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import fc from 'fast-check';
import { withDefaults } from '../../core/scan/options.ts';
import { isTerminal, PHASES } from '../../core/scan/phases.ts';
import { optionsKeyOf, type ScanRow } from '../../stores/scans/scan-row.ts';
import { createScans } from '../../stores/scans/scans.ts';
import { createSites, HISTORY_MAX, type HostGroups, type Site } from '../../stores/scans/sites.ts';
import { createSchedules } from '../../stores/schedules/schedules.ts';
import { scanRow } from '../support/scan-rows.ts';
import { scheduleRow } from '../support/schedule-rows.ts';
import { OUTCOME } from '../web/scan-views.ts';
import { useDatabase, useStore } from './database.ts';

const HOSTS = ['shop.example', 'www.example.com', 'localhost:8080'];
const at = (minute: number): Date => new Date(Date.UTC(2026, 0, 1, 0, minute));

describe('the key of compared options', () => {
  const url = 'https://example.com/';
  const key = (given: Parameters<typeof withDefaults>[0], auth?: ScanRow['auth']) => optionsKeyOf({ options: withDefaults(given), auth });

  it('is that of comparable scans, whatever the order of their fields', () => {
    const same = key({ url });
    expect(same).to.match(/^[0-9a-f]{16}$/);
    expect(key({ url: 'https://example.com/shop', locale: 'pl', thresholds: { minScore: 5 } })).to.equal(same);
    const options = withDefaults({ url });
    const { crawl, ...rest } = options;
    expect(optionsKeyOf({ options: { crawl: Object.fromEntries(Object.entries(crawl).reverse()) as never, ...rest } })).to.equal(same);
    const others = [
      key({ url, maxPages: 9 }),
      key({ url, wcagLevel: 'AAA' }),
      key({ url, crawl: { exclude: ['/a'] } }),
      key({ url }, { secret: 'a' }),
      optionsKeyOf({ options, test: true }),
    ];
    expect(new Set([same, ...others])).to.have.property('size', 6);
  });

  it('does not change when a later version adds an option', () => {
    const options = withDefaults({ url, crawl: { exclude: ['/a'] } });
    // As rows of the version before the option `consent`.
    const { consent: _added, ...crawl } = options.crawl;
    expect(optionsKeyOf({ options: { ...options, crawl: crawl as never } })).to.equal(optionsKeyOf({ options }));
  });
});

describe('the list of sites', () => {
  const database = useDatabase();
  const sites = useStore(database, createSites);
  const scans = useStore(database, createScans);
  const schedules = useStore(database, createSchedules);

  const rowOf = (organisation: string, minute: number, over: Partial<ScanRow> = {}, host = HOSTS[0]!): Promise<ScanRow> =>
    scans.create(
      scanRow({
        organisation,
        submission: 'accepted',
        phase: 'done',
        outcome: OUTCOME,
        createdAt: at(minute),
        finishedAt: at(minute + 1),
        options: withDefaults({ url: `https://${host}/` }),
        ...over,
      }),
    );

  /** What the list must have of these scans. */
  function meantGroups(rows: readonly ScanRow[]): Site[] {
    const ended = rows.filter(({ phase, test }) => isTerminal(phase) && !test);
    return [...Map.groupBy(ended, ({ site, optionsKey }) => `${site}/${optionsKey}`).values()]
      .map((group) => group.toSorted((a, b) => b.createdAt.getTime() - a.createdAt.getTime()))
      .map(([newest, ...others]) => ({
        organisation: newest!.organisation,
        site: newest!.site,
        optionsKey: newest!.optionsKey,
        scan: newest!.id,
        createdAt: newest!.createdAt,
        phase: newest!.phase as Site['phase'],
        passed: newest!.passed,
        finishedAt: newest!.finishedAt!,
        done: [newest!, ...others].find(({ phase }) => phase === 'done')?.id ?? null,
        history: [newest!, ...others]
          .filter(({ phase }) => phase === 'done')
          .slice(0, HISTORY_MAX)
          .map(({ id, createdAt, options, outcome }) => ({
            ...{ scan: id, at: createdAt, url: options.url },
            ...{ score: outcome!.score, violations: outcome!.violations.total },
          }))
          .reverse(),
      }))
      .toSorted((a, b) => b.createdAt.getTime() - a.createdAt.getTime());
  }
  const meant = (rows: readonly ScanRow[]): Site[][] => [...Map.groupBy(meantGroups(rows), ({ site }) => site).values()];
  const groupsIn = ({ sites: found }: { sites: readonly HostGroups[] }): Site[][] => found.map(({ groups }) => groups);

  it('has the newest ended and the newest done scan of each host and options, in whatever order scans are recorded', async () => {
    const scan = fc.record({
      host: fc.constantFrom(...HOSTS),
      maxPages: fc.constantFrom(5, 50),
      phase: fc.constantFrom(...PHASES),
      passed: fc.constantFrom(null, true, false),
      test: fc.constantFrom(undefined, undefined, undefined, true as const),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(scan, { maxLength: 15 }), fc.integer({ min: 1, max: 4 }), fc.nat(), async (given, limit, seed) => {
        const organisation = randomUUID();
        const rows: ScanRow[] = [];
        for (const [minute, { host, maxPages, phase, passed, test }] of given.entries()) {
          const options = withDefaults({ url: `https://${host}/`, maxPages });
          rows.push(await rowOf(organisation, minute, { options, phase, passed, ...(test && { test }) }, host));
        }
        const shuffled = rows.toSorted((a, b) => ((a.createdAt.getTime() * 31 + seed) % 7) - ((b.createdAt.getTime() * 31 + seed) % 7));
        await sites.record(shuffled.slice(0, 5));
        await sites.record(shuffled);
        const found: Site[][] = [];
        let after: Parameters<typeof sites.search>[1]['after'] = null;
        do {
          const page = await sites.search(organisation, { limit, after });
          found.push(...groupsIn(page));
          after = page.next;
        } while (after !== null);
        expect(found).to.deep.equal(meant(rows));
        const named = meant(rows).filter(([group]) => group!.site === 'www.example.com');
        expect(groupsIn(await sites.search(organisation, { text: ' EXAMPLE.c', limit: 50 }))).to.deep.equal(named);
        expect((await sites.of(organisation, HOSTS[2]!)).groups).to.deep.equal(meantGroups(rows).filter(({ site }) => site === HOSTS[2]));
      }),
      { numRuns: 25 },
    );
  });

  it('is right when two leaders record at the same time', async () => {
    const organisation = randomUUID();
    const other = createSites(database.another());
    const rows = await Promise.all(
      Array.from({ length: 20 }, (_, minute) => rowOf(organisation, minute, { phase: minute < 12 ? 'done' : 'failed' })),
    );
    await Promise.all([...rows.map((row) => sites.record([row])), ...rows.toReversed().map((row) => other.record([row]))]);
    expect(groupsIn(await sites.search(organisation, { limit: 5 }))).to.deep.equal(meant(rows));
  });

  it('names no erased scan, also if another one is erased between a read and the write', async () => {
    const organisation = randomUUID();
    const [oldest, older, newest] = [await rowOf(organisation, 1), await rowOf(organisation, 2), await rowOf(organisation, 3)];
    // A newer scan of a test key is not of the site.
    await rowOf(organisation, 9, { test: true });
    await sites.record([oldest, older, newest]);
    const eraseOlder = async () => {
      if (await scans.erase(organisation, older.id)) await sites.without([older.id]);
    };
    const crossed = (name: string) =>
      new Proxy(database.db.collection(name), {
        get: (target, key: 'replaceOne') =>
          key === 'replaceOne'
            ? async (...given: Parameters<typeof target.replaceOne>) => {
                await eraseOlder();
                return target.replaceOne(...given);
              }
            : target[key],
      });
    const late = createSites({ collection: crossed } as unknown as typeof database.db);
    await scans.erase(organisation, newest.id);
    await late.without([newest.id]);
    expect((await sites.of(organisation, HOSTS[0]!)).groups).to.deep.equal(meantGroups([oldest]));
    await scans.erase(organisation, oldest.id);
    await sites.without([oldest.id]);
    expect((await sites.of(organisation, HOSTS[0]!)).groups).to.deep.equal([]);
  });

  it('looks at a limited number of sites per query with filters, and says where to continue', async () => {
    const organisation = randomUUID();
    const few = createSites(database.db, 3);
    const hosts = ['zoo.example', 'a.example', 'b.example', 'c.example', 'd.example'];
    await sites.record(await Promise.all(hosts.map((host, minute) => rowOf(organisation, minute, {}, host))));
    const first = await few.search(organisation, { text: 'zoo', limit: 5 });
    expect([first.sites, first.next?.at]).to.deep.equal([[], at(2)]);
    const second = await few.search(organisation, { text: 'zoo', limit: 5, after: first.next });
    expect([second.sites.map(({ site }) => site), second.next]).to.deep.equal([['zoo.example'], null]);
  });

  it('names and hides sites, finds them by name, and forgets that with the site', async () => {
    const organisation = randomUUID();
    const rows = await Promise.all(HOSTS.map((host, minute) => rowOf(organisation, minute, {}, host)));
    await sites.record(rows);
    await sites.label(organisation, { site: HOSTS[0]!, name: 'Our (main) shop', hidden: false });
    await sites.label(organisation, { site: HOSTS[1]!, name: null, hidden: true });
    const found = async (search: object) => {
      const { sites: listed, hidden } = await sites.search(organisation, { limit: 5, ...search });
      return [listed.map(({ site, name }) => [site, name]), hidden];
    };
    const shop = [HOSTS[0], 'Our (main) shop'];
    expect(await found({})).to.deep.equal([[[HOSTS[2], null], shop], 1]);
    expect(await found({ text: '(MAIN) ' })).to.deep.equal([[shop], 1]);
    expect(await found({ hidden: true })).to.deep.equal([[[HOSTS[1], null]], 1]);
    await sites.label(organisation, { site: HOSTS[1]!, name: null, hidden: false });
    await scans.erase(organisation, rows[0]!.id);
    await sites.remove(organisation, HOSTS[0]!);
    expect(await found({})).to.deep.equal([
      [
        [HOSTS[2], null],
        [HOSTS[1], null],
      ],
      0,
    ]);
    expect(await sites.of(organisation, HOSTS[0]!)).to.deep.equal({ site: HOSTS[0], name: null, hidden: false, groups: [] });
  });

  it('forgets a site when its newest scan is forgotten', async () => {
    const organisation = randomUUID();
    await sites.record([await rowOf(organisation, 1, {}, HOSTS[1]), await rowOf(organisation, 9)]);
    await sites.forget(at(5));
    expect((await sites.search(organisation, { limit: 5 })).sites.map(({ site }) => site)).to.deep.equal([HOSTS[0]]);
  });

  it('finds ended scans until they are in it', async () => {
    const organisation = randomUUID();
    const live = await rowOf(organisation, 1, { phase: 'scanning', finishedAt: null });
    expect((await scans.unlisted(100)).map(({ id }) => id)).to.not.include(live.id);
    await scans.mirror(live.id, { phase: 'failed', finishedAt: at(2) });
    const [row] = (await scans.unlisted(100)).filter(({ id }) => id === live.id);
    expect(row)
      .to.deep.equal(await scans.find(live.id))
      .and.not.have.property('unlisted');
    await scans.listed([live.id]);
    expect((await scans.unlisted(100)).map(({ id }) => id)).to.not.include(live.id);
  });

  it('leaves out submissions that were abandoned, and their ends are announced to nobody', async () => {
    const organisation = randomUUID();
    const result = await rowOf(organisation, 1);
    const { id } = await rowOf(organisation, 2, { submission: 'pending', phase: 'queued', finishedAt: null });
    await scans.mirror(id, { phase: 'failed', finishedAt: at(3) });
    const waiting = async () => [await scans.unlisted(100), await scans.unannounced(100)].map((rows) => rows.some((row) => row.id === id));
    expect(await waiting(), 'while nothing is decided').to.deep.equal([false, false]);
    await scans.abandon(id);
    expect(await waiting()).to.deep.equal([false, false]);
    await sites.record([result, (await scans.find(id))!]);
    expect((await sites.of(organisation, HOSTS[0]!)).groups).to.deep.equal(meantGroups([result]));
  });

  it('finds the scans of one host and options, and the schedules and next runs', async () => {
    const organisation = randomUUID();
    const own = await rowOf(organisation, 1);
    const other = await rowOf(organisation, 2, { options: withDefaults({ url: 'https://shop.example/', maxPages: 50 }) });
    await rowOf(organisation, 2, { test: true });
    await sites.record([own, other]);
    expect(await sites.find(organisation, 'shop.example', other.optionsKey)).to.deep.equal(meantGroups([other])[0]);
    expect(await sites.find(randomUUID(), 'shop.example', other.optionsKey)).to.equal(null);
    const of = { site: own.site, optionsKey: own.optionsKey };
    expect((await scans.search(organisation, { ...of, limit: 5 })).rows.map(({ id }) => id)).to.deep.equal([own.id]);
    const metadata = { branch: 'main' };
    const main = await rowOf(organisation, 3, { metadata });
    expect((await scans.search(organisation, { ...of, metadata, limit: 5 })).rows.map(({ id }) => id)).to.deep.equal([main.id]);
    const url = 'https://shop.example/';
    const rows = [
      scheduleRow({ organisation, url, name: 'late', nextAt: at(90) }),
      scheduleRow({ organisation, url, name: 'soon', nextAt: at(60) }),
      scheduleRow({ organisation, url, name: 'suspended', nextAt: null }),
      scheduleRow({ organisation, url, name: 'other-options', optionsKey: 'f'.repeat(16), nextAt: at(70) }),
      scheduleRow({ organisation, url: 'https://elsewhere.example/', name: 'elsewhere' }),
      scheduleRow({ organisation: randomUUID(), url, namespace: 'theirs' }),
    ];
    for (const row of rows) await schedules.put(row, 'x');
    expect((await schedules.list(organisation, { of, limit: 9 })).map(({ name }) => name)).to.deep.equal(['late', 'soon', 'suspended']);
    expect(await schedules.nextRuns(organisation, ['shop.example', 'unknown.example'])).to.deep.equal(
      [rows[1]!, rows[3]!, rows[0]!].map(({ site, optionsKey, nextAt }) => ({ site, optionsKey, nextAt })),
    );
  });
});
