/** One scan in several pods: the same report as from one, whatever becomes of the others, over a real nats-server. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { expect } from 'chai';
import { type NatsConnection } from '@nats-io/transport-node';
import type { Team } from '../../core/protocol/pod-messages.ts';
import { fromHelper, toHelper } from '../../core/protocol/subjects.ts';
import { type Messages, startMessages } from '../../local/messages/messages.ts';
import type { ReportPage } from '../../report/schema/page.ts';
import { helpScan, runScan } from '../../scanner-image/scan.ts';
import { EVERY_WAIT } from '../../scanner-image/crawl/wait-history.ts';
import { HelperLost, leadTeam, type TeamLead } from '../../scanner-image/team/lead.ts';
import { connectToBus } from '../../scanner-image/pod/messages.ts';
import { decode, encode, type FromHelper, partsOf, type ToHelper } from '../../scanner-image/team/wire.ts';
import type { Visit } from '../../scanner-image/page/visit/visit.ts';
import { createMessageBus, type MessageBus } from '../../stores/nats.ts';
import { eventually } from '../api/context.ts';
import { createFakeLogger } from '../support/fake-logger.ts';
import { loadedVisit } from '../support/loaded-visit.ts';
import { silentLogger } from '../support/silent-logger.ts';
import { openGeneratedSite } from './fixtures/generated-site.ts';
import { inSharedBrowser } from './shared-browser.ts';
import { FAULT, html, inputOf, machine, openSite, scan } from './site.ts';

const PODS = 3;

describe('a scan in several pods', () => {
  let folder: string;
  let messages: Messages;
  let bus: MessageBus;
  let scans = 0;
  const helping: { stop: AbortController; ended: Promise<unknown> }[] = [];

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'curbcut-team-'));
    messages = await startMessages({ dataDir: folder });
    const { url, credentialsFile, signingSeed } = messages;
    bus = createMessageBus({ url, credentialsFile, signingSeed, logger: silentLogger });
  });
  after(async () => {
    await bus.close();
    await messages.close();
    rmSync(folder, { recursive: true });
  });
  afterEach(async () => {
    for (const { stop } of helping) stop.abort(new Error('the test is over'));
    await Promise.all(helping.splice(0).map(({ ended }) => ended.catch(() => undefined)));
  });

  const teamOf = (): Team[] => bus.issueTeam(`scan-${++scans}`, PODS, new Date(Date.now() + 600_000))!;

  /** Starts a helper. `ended` resolves when pod 0 has ended the scan. */
  function startHelper(url: string, team: Team, options: Parameters<typeof inputOf>[1] = {}) {
    const stop = new AbortController();
    const deps = { machine, log: silentLogger, restMs: 300, signal: stop.signal };
    const ended = inSharedBrowser(() => helpScan(inputOf(url, options, { team, workers: 2 }), team, deps));
    ended.catch(() => undefined);
    helping.push({ stop, ended });
    return { stop, ended };
  }

  /** Scans with helpers, and returns what each pod visited. */
  async function scanIn(url: string, team: Team, options: Parameters<typeof inputOf>[1] = {}) {
    const logger = createFakeLogger();
    const run = await inSharedBrowser(() => runScan(inputOf(url, options, { team, workers: 2 }), { machine, log: logger, restMs: 300 }));
    await run.closed;
    return { ...run, lines: logger.lines };
  }

  const withoutMoment = (pages: readonly ReportPage[]): unknown =>
    JSON.parse(JSON.stringify(pages), (name, value: unknown) => (['box', 'size', 'duration_ms'].includes(name) ? undefined : value));

  it('gives the same report as in one, and ends its helpers', async () => {
    for (const seed of [104, 106]) {
      const site = await openGeneratedSite(seed);
      const options = { maxPages: 12, pictures: true };
      const alone = await scan(site.origin, options);
      const team = teamOf();
      const helpers = [1, 2].map((index) => startHelper(site.origin, team[index]!, options));
      const together = await scanIn(site.origin, team[0]!, options);
      await Promise.all(helpers.map(({ ended }) => ended));
      await site.close();
      expect(isDeepStrictEqual(withoutMoment(together.pages), withoutMoment(alone.pages)), `seed ${seed}`).to.equal(true);
      expect(together.discovery).to.deep.equal(alone.discovery);
      expect([...together.pictures.keys()].sort()).to.deep.equal([...alone.pictures.keys()].sort());
      expect(together.lines.filter((line) => JSON.stringify(line).includes('helper is there'))).to.have.lengthOf(2);
    }
  }).timeout(100_000);

  it('keeps what a helper has visited for a pod 0 that starts again, and notices that a helper is lost', async () => {
    const site = await openSite({
      '/': html(FAULT),
      '/slow': () => undefined,
      '/busy': (_request, response) => void response.writeHead(429).end(),
    });
    const team = teamOf();
    const helper = startHelper(site.origin, team[1]!);
    const rules = { start: site.origin, origin: site.origin, own: null, further: [] };
    const request = {
      ...{ url: new URL(site.origin), test: true, plan: EVERY_WAIT, budgetMs: 30_000, largeBudgetMs: 30_000 },
      ...{ testsStates: false, pictures: null },
    };
    const leads: TeamLead[] = [];
    const lead = async (now?: () => number): Promise<TeamLead> => {
      const led = leadTeam(team[0]!, silentLogger, now);
      leads.push(led);
      await eventually('the helper', () => led.helpers().length > 0);
      return led;
    };
    // It ends without a word, as an evicted pod does.
    const first = await (await lead()).visit(1, 0, request, rules);
    let ms = 0;
    const again = await lead(() => ms);
    expect(await again.visit(1, 0, request, rules)).to.deep.equal(first);
    expect(site.hits('/')).to.equal(1);
    const busy = { ...request, url: new URL('/busy', site.origin) };
    for (const hits of [1, 2]) {
      expect(await again.visit(1, 0, busy, rules)).to.include({ status: 429 });
      expect(site.hits('/busy')).to.equal(hits);
    }
    const evict = async ({ stop, ended }: typeof helper): Promise<void> => {
      stop.abort(new Error('evicted'));
      await ended.catch(() => undefined);
    };
    // Its successor does not have the rules that it was sent.
    await evict(helper);
    const come = new Promise<void>((resolve) => (again.onChange = resolve));
    const successor = startHelper(site.origin, team[1]!);
    await come;
    expect(await again.visit(1, 0, busy, rules)).to.include({ status: 429 });
    await evict(successor);
    const lost = again.visit(1, 0, { ...request, url: new URL('/slow', site.origin) }, rules);
    ms = 60_000;
    expect(await lost.catch((error: unknown) => error)).to.be.instanceOf(HelperLost);
    expect(again.helpers()).to.deep.equal([]);
    await Promise.all([...leads.map((one) => one.close()), site.close()]);
  });

  it('takes no answer that was meant for a pod 0 before', async () => {
    const team = teamOf();
    const { subject } = team[1]!;
    const helper = await connectToBus(team[1]!, 'test');
    const say = (message: FromHelper): void => helper.publish(fromHelper(subject, 1), partsOf(encode(message))[0]);
    const asked: number[] = [];
    helper.subscribe(toHelper(subject, 1), {
      callback(_error, { data }) {
        const message = decode(data.subarray(1)) as ToHelper;
        if (message.kind === 'hello') say({ kind: 'ready', workers: 1, since: 1 });
        if (message.kind !== 'visit') return;
        asked.push(message.id);
        // The first one is answered when the second pod 0 asks.
        if (asked.length > 1) for (const id of asked) say({ kind: 'visited', id, visit: loadedVisit(new URL(`https://a.test/${id}`)) });
      },
    });
    await helper.flush();
    const request = { url: new URL('http://site.test'), test: true, plan: EVERY_WAIT, budgetMs: 1, largeBudgetMs: 30_000 };
    const ask = async (): Promise<{ led: TeamLead; visited: Promise<Visit> }> => {
      const led = leadTeam(team[0]!, silentLogger);
      await new Promise<void>((resolve) => (led.onChange = resolve));
      const rules = { start: 'http://site.test', origin: 'http://site.test', own: null, further: [] };
      return { led, visited: led.visit(1, 0, { ...request, testsStates: false, pictures: null }, rules) };
    };
    const before = await ask();
    before.visited.catch(() => undefined);
    await eventually('the first question', () => asked.length === 1);
    const after = await ask();
    expect(await after.visited)
      .to.have.property('finalUrl')
      .that.deep.equals(new URL(`https://a.test/${asked[1]}`));
    expect(asked[1]).not.to.equal(asked[0]);
    await Promise.all([before.led.close(), after.led.close(), helper.close()]);
  });

  it('lets each pod speak only for itself', async () => {
    const team = teamOf();
    const [lead, one, two] = await Promise.all(team.map((place) => connectToBus(place, 'test')));
    const heard: string[] = [];
    const listen = (connection: NatsConnection, subject: string): unknown =>
      connection.subscribe(subject, { callback: (error, message) => void (error === null && heard.push(message.subject)) });
    const { subject } = team[0]!;
    listen(lead!, fromHelper(subject, '*'));
    listen(two!, toHelper(subject, 1));
    await Promise.all([lead!.flush(), two!.flush()]);
    one!.publish(fromHelper(subject, 2), 'in the name of another');
    one!.publish(toHelper(subject, 2), 'as pod 0');
    lead!.publish(toHelper(subject, 1), 'for pod 1');
    one!.publish(fromHelper(subject, 1), 'as itself');
    await Promise.all([one!.flush(), lead!.flush()]);
    await eventually('a message', () => heard.length > 0);
    expect(heard).to.deep.equal([fromHelper(subject, 1)]);
    await Promise.all([lead, one, two].map((connection) => connection!.close()));
  });

  it('goes on alone without the bus', async () => {
    const site = await openSite({ '/': html('<a href="/a">A</a>'), '/a': html(FAULT) });
    const team = { ...teamOf()[0]!, url: 'nats://127.0.0.1:9' };
    const { pages } = await scanIn(site.origin, team);
    await site.close();
    expect(pages.filter((page) => page.tested)).to.have.lengthOf(2);
  });
});
