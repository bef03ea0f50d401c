/** KnownIssues resources: what they accept is in effect for the scans of the organisation, and their status says what is and why. */
import { randomBytes, randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { API_VERSION, type Condition } from '../../core/protocol/custom-resources.ts';
import { NAMES_LISTED_MAX, type DeclaredKnownIssue, type KnownIssuesResource } from '../../core/protocol/known-issues-resources.ts';
import { KNOWN_ISSUES_MAX } from '../../core/scan/known-issues.ts';
import { KNOWN_ISSUES } from '../../operator/known-issues/controller.ts';
import { conditionOf } from '../../operator/runtime/conditions.ts';
import { EVENTS } from '../../operator/runtime/events.ts';
import { systemClock } from '../../platform/clock.ts';
import { KubernetesError } from '../../platform/kubernetes/kubernetes.ts';
import type { KnownIssueRow } from '../../stores/known-issues/known-issues.ts';
import type { AllStores } from '../../stores/stores.ts';
import { rootCauseFingerprint } from '../../report/causes/root-causes.ts';
import { testedPages } from '../../report/schema/page.ts';
import { bytesOf, pagesOf, reportOf } from '../support/scan-results.ts';
import { ORGANISATION, TARGET, until, useContext } from './context.ts';
import { getIfThere } from './simulated-scan.ts';

const MERGE = 'application/merge-patch+json';
const OTHER = 'globex';
/** Often enough that tests need not wait. */
const SOON = { knownIssuesEveryMs: 200 };
const DAY_MS = 86_400_000;
const inDays = (days: number): string => new Date(Date.now() + days * DAY_MS).toISOString();
const fingerprint = (): string => randomBytes(8).toString('hex');
const issue = (fields: Partial<DeclaredKnownIssue> = {}): DeclaredKnownIssue => ({
  fingerprint: fingerprint(),
  reason: 'The supplier fixes it.',
  owner: 'shop team',
  expiresAt: inDays(90),
  ...fields,
});

describe('operator: known issues', () => {
  const context = useContext();
  before(async () => {
    await context.grant(1_000);
    await context.stores.organisations.add({ id: OTHER, displayName: 'Globex', plan: 'test', namespaces: [] });
  });
  afterEach(async () => {
    context.start(SOON);
    const { items } = await context.connection.request<{ items: KnownIssuesResource[] }>('GET', pathOf(context.team));
    for (const { metadata } of items) await context.connection.request('DELETE', pathOf(context.team, metadata.name));
    await until('nothing is stored', async () => (await context.stores.knownIssues.declaredOf('curbcut')).length === 0);
    await context.rest();
  });

  const pathOf = (namespace: string, name?: string) => context.connection.path(KNOWN_ISSUES, namespace, name);
  /** Each test has a site of its own. */
  const newSite = () => `${randomUUID().slice(0, 8)}.example.org`;

  async function apply(
    issues: DeclaredKnownIssue[],
    { site = newSite(), namespace = context.team, name = `accepted-${randomUUID().slice(0, 8)}`, operatorClass = 'curbcut' } = {},
  ) {
    const spec = { class: operatorClass, site, issues };
    const body = { apiVersion: API_VERSION, kind: 'KnownIssues', metadata: { name, namespace }, spec };
    const { metadata } = await context.connection.request<KnownIssuesResource>('POST', pathOf(namespace), { body });
    const read = () => getIfThere<KnownIssuesResource>(context.connection, KNOWN_ISSUES, namespace, name);
    return {
      name,
      site,
      uid: metadata.uid!,
      read,
      patch: (spec: object) =>
        context.connection.request<KnownIssuesResource>('PATCH', pathOf(namespace, name), { contentType: MERGE, body: { spec } }),
      remove: () => context.connection.request('DELETE', pathOf(namespace, name)),
      /** Waits for a condition of the current generation. */
      async is(type: string, status: Condition['status'], reason: string): Promise<KnownIssuesResource> {
        let last: KnownIssuesResource | null = null;
        const look = async () => {
          last = await read();
          const condition = conditionOf(last?.status?.conditions, type);
          const isCurrent = condition?.observedGeneration === last?.metadata.generation;
          return isCurrent && condition?.status === status && condition.reason === reason ? last : null;
        };
        return until(`${type} is ${status} with ${reason}`, look).catch((error: Error) => {
          throw new Error(`${error.message}; the status is ${JSON.stringify(last?.status)}`);
        });
      },
      async events(): Promise<string[]> {
        const query = { fieldSelector: `involvedObject.uid=${metadata.uid}` };
        const path = context.connection.path(EVENTS, namespace);
        const { items } = await context.connection.request<{ items: { reason: string }[] }>('GET', path, { query });
        return items.map(({ reason }) => reason);
      },
    };
  }
  const stored = (site: string, organisation = ORGANISATION): Promise<KnownIssueRow[]> =>
    context.stores.knownIssues.list(organisation, { site, limit: 1000 });
  const messageOf = ({ status }: KnownIssuesResource, type = 'Ready') => conditionOf(status?.conditions, type)!.message;
  const acceptOverRest = async (site: string, target: object, expiresAt = new Date(inDays(9))) => {
    const row = { reason: 'x', owner: 'x', createdBy: 'ann@example.com', createdAt: new Date() };
    const added = await context.stores.knownIssues.add({ organisation: ORGANISATION, site, ...target, ...row, expiresAt });
    if (!added.ok) throw new Error(added.reason);
    return added.issue;
  };

  it('are in effect for the organisation of the namespace, changed with the manifest and gone with it, each in the audit log', async () => {
    context.start(SOON);
    const [kept, dropped] = [issue(), issue({ fingerprint: undefined, rule: 'image-alt', selector: '#logo' })];
    const host = newSite();
    const manifest = await apply([kept, dropped], { site: `https://${host.toUpperCase()}/` });
    const { status } = await manifest.is('Ready', 'True', 'Mirrored');
    expect(status).to.deep.include({ organisation: ORGANISATION, issues: 2, live: 2, ending: 0, expired: 0, stale: 0, endingNames: [] });
    expect(conditionOf(status!.conditions, 'Ending')).to.include({ status: 'False' });
    const rows = await stored(host);
    expect(rows.map((row) => row.manifest)).to.deep.equal([0, 1].map(() => ({ namespace: context.team, name: manifest.name })));
    const { issues: chosen } = (await context.stores.knownIssues.choose(randomUUID(), ORGANISATION, [host], new Date()))!;
    expect(chosen.map(({ id }) => id)).to.have.members(rows.map(({ id }) => id));

    await manifest.patch({ issues: [{ ...kept, reason: 'Later.' }, issue(), issue()] });
    await until('the change is stored', async () => (await stored(host)).length === 3);
    await manifest.is('Ready', 'True', 'Mirrored');
    expect((await stored(host)).filter(({ id, reason }) => rows.some((row) => row.id === id) && reason === 'Later.')).to.have.length(1);
    await manifest.remove();
    await until('nothing is in effect', async () => (await stored(host)).length === 0);
    const log = await context.stores.organisations.auditPage(ORGANISATION, { limit: 10, action: 'known-issue.declare' });
    const name = `${host} ${context.team}/${manifest.name}`;
    expect(log.map(({ actor, subject }) => [actor, subject])).to.deep.equal([
      ['manifest', `${name}: 3 removed`],
      ['manifest', `${name}: 2 added, 1 changed, 1 removed`],
      ['manifest', `${name}: 2 added`],
    ]);
  });

  it('are refused by the API server with another target, end or site than the schema has', async () => {
    const refused = async (fields: object, site = 'example.org') =>
      apply([{ ...issue(), ...fields }], { site }).then(
        () => expect.fail('it was accepted'),
        (error: KubernetesError) => error.message,
      );
    expect(await refused({ rule: 'image-alt' })).to.include('A known issue has either a fingerprint, or a rule and a selector.');
    expect(await refused({ fingerprint: undefined, rule: 'image-alt' })).to.include('has either a fingerprint');
    expect(await refused({ expiresAt: 'tomorrow' })).to.include('expiresAt');
    expect(await refused({ reason: ' ' })).to.include('reason');
    expect(await refused({}, 'https://example.org/shop')).to.include('spec.site');
  });

  it('that the spec has wrong are not in effect, and the others are; a change cures it', async () => {
    context.start(SOON);
    const right = issue();
    const manifest = await apply([right, { ...right, name: 'twice' }, issue({ name: 'far', expiresAt: inDays(400) })]);
    const resource = await manifest.is('Ready', 'False', 'Invalid');
    expect(messageOf(resource)).to.equal(
      `Not in effect: twice is about the same as one before it; far ends more than 366 days ahead. For scans of ${manifest.site}, 1 known issue is in effect.`,
    );
    expect(resource.status).to.include({ issues: 3, live: 1 });
    expect(conditionOf(resource.status!.conditions, 'Stalled')).to.include({ status: 'True', reason: 'Invalid' });
    expect((await stored(manifest.site)).map((row) => row.fingerprint)).to.deep.equal([right.fingerprint]);
    await until('there is an Event', async () => (await manifest.events()).includes('Invalid'));
    await manifest.patch({ site: 'a..b:99999' });
    expect(messageOf(await manifest.is('Ready', 'False', 'Invalid'))).to.match(/in effect: /);
    await until('nothing of a wrong site is in effect', async () => (await stored(manifest.site)).length === 0);
    await manifest.patch({ site: manifest.site, issues: [right] });
    await manifest.is('Ready', 'True', 'Mirrored');
    expect(await stored(manifest.site)).to.have.length(1);
  });

  it('of a root cause that someone else has accepted stay with the first one', async () => {
    context.start(SOON);
    const [byRest, shared] = [issue(), issue({ name: 'shared' })];
    const first = await apply([shared]);
    await first.is('Ready', 'True', 'Mirrored');
    const row = await acceptOverRest(first.site, { fingerprint: byRest.fingerprint });
    const own = issue();
    const second = await apply([byRest, shared, own], { site: first.site });
    const resource = await second.is('Ready', 'False', 'IssueTaken');
    expect(messageOf(resource)).to.equal(
      `Not in effect: ${byRest.fingerprint} is accepted already over REST (${row.id}); shared is accepted already by KnownIssues ${context.team}/${first.name}. For scans of ${first.site}, 1 known issue is in effect.`,
    );
    expect(await stored(first.site)).to.have.length(3);
    await context.stores.knownIssues.remove(ORGANISATION, row.id);
    // The end of the other manifest is enough.
    await first.remove();
    await second.is('Ready', 'True', 'Mirrored');
    expect((await stored(first.site)).map(({ manifest }) => manifest!.name)).to.deep.equal([0, 1, 2].map(() => second.name));
  });

  it('that others have accepted are taken over when those end', async () => {
    context.start(SOON);
    const [byRest, shared] = [issue(), issue({ name: 'shared' })];
    const end = Date.now() + 6_000;
    const first = await apply([{ ...shared, expiresAt: new Date(end).toISOString() }]);
    await first.is('Ready', 'True', 'Mirrored');
    await acceptOverRest(first.site, { fingerprint: byRest.fingerprint }, new Date(end));
    const second = await apply([byRest, shared], { site: first.site });
    const { status } = await second.is('Ready', 'True', 'Mirrored');
    expect(status).to.include({ live: 2 });
  });

  it('that have ended give way to those about the same in the manifest, and leave no Ending without a site or organisation', async () => {
    context.start(SOON);
    const one = issue({ name: 'one' });
    const manifest = await apply([{ ...one, name: 'ended', expiresAt: inDays(-1) }, one, { ...one, expiresAt: inDays(-2) }]);
    const { status } = await manifest.is('Ready', 'True', 'Mirrored');
    expect(status).to.include({ issues: 3, live: 1, expired: 0 });
    await manifest.patch({ issues: [{ ...one, expiresAt: inDays(3) }] });
    await manifest.is('Ending', 'True', 'EndingSoon');
    await manifest.patch({ site: 'a..b:99999' });
    await manifest.is('Ending', 'False', 'NoneEnds');
  });

  it('that exceed the limit of the site are left out', async () => {
    context.start(SOON);
    const first = await apply(Array.from({ length: KNOWN_ISSUES_MAX - 1 }, () => issue()));
    await first.is('Ready', 'True', 'Mirrored');
    const second = await apply([issue(), issue({ name: 'last' })], { site: first.site });
    const resource = await second.is('Ready', 'False', 'TooManyIssues');
    expect(messageOf(resource)).to.include('last exceeds the 500 known issues');
    expect(resource.status).to.include({ live: 1 });
  });

  it('that end are named by a condition, an Event and the status, soonest first, and count no more when they have ended', async () => {
    let ahead = 0;
    const clock = { ...systemClock, now: () => new Date(systemClock.now().getTime() + ahead) };
    const operator = context.start(SOON, { clock });
    const names = Array.from({ length: NAMES_LISTED_MAX + 2 }, (_, at) => `n${at}`);
    const soon = names.map((name, at) => issue({ name, expiresAt: inDays(29 - at) }));
    const manifest = await apply([...soon, issue({ name: 'later' })]);
    const { status } = await manifest.is('Ending', 'True', 'EndingSoon');
    expect(status).to.include({ live: soon.length + 1, ending: soon.length, expired: 0 });
    expect(status!.endingNames).to.deep.equal(names.toReversed().slice(0, NAMES_LISTED_MAX));
    await until('there is an Event', async () => (await manifest.events()).includes('EndingSoon'));
    await operator.stop();
    ahead = 8 * DAY_MS;
    context.start(SOON, { clock });
    const resource = await manifest.is('Ending', 'True', 'Expired');
    expect(resource.status).to.include({ live: soon.length, ending: soon.length - 1, expired: 1 });
    expect(messageOf(resource, 'Ending')).to.match(/^Ended, so that violations count again: n21\. End within 30 days: n20; n19/);
    await until('there is an Event', async () => (await manifest.events()).includes('Expired'));
    expect(conditionOf(resource.status!.conditions, 'Ready')).to.include({ status: 'True' });
  });

  it('that matched nothing in the newest scan of the site are named in the status', async () => {
    context.start(SOON);
    const pages = pagesOf(TARGET);
    const { rule, nodes } = testedPages(pages).flatMap(({ violations }) => violations)[0]!;
    const host = new URL(TARGET).host;
    const manifest = await apply([issue({ fingerprint: rootCauseFingerprint(rule, nodes[0]!) }), issue({ name: 'fixed' })], { site: host });
    await manifest.is('Ready', 'True', 'Mirrored');
    const scan = await context.submit();
    const pod = await scan.pod();
    const input = await scan.input();
    expect(input.knownIssues!.issues).to.have.length(2);
    await scan.publish(
      await scan.upload(pod, bytesOf(reportOf(input, pages)), undefined, { scanned: pages.length, failed: 0, total: pages.length }),
    );
    const { status: ended } = await scan.settles();
    expect(ended!.known).to.include({ matched: 1, unmatched: 1 });
    const { status } = await until('the status names it', async () => {
      const resource = await manifest.read();
      return resource?.status?.stale === 1 ? resource : null;
    });
    expect(status).to.deep.include({ live: 2, staleNames: ['fixed'] });
    expect(status!.lastScanId).to.equal((await context.stores.knownIssues.matchesOf(ORGANISATION, host))!.scanId);
  });

  it('wait while no organisation is charged for the namespace, and follow it to another one', async () => {
    context.start(SOON);
    const host = newSite();
    const manifest = await apply([issue()], { namespace: context.strangers, site: host });
    try {
      const resource = await manifest.is('Ready', 'False', 'NoOrganisation');
      expect(conditionOf(resource.status!.conditions, 'Reconciling')).to.include({ status: 'True' });
      const charge = (id: string, namespaces: string[]) => context.stores.organisations.setNamespaces(id, namespaces);
      await charge(OTHER, [context.strangers]);
      await manifest.is('Ready', 'True', 'Mirrored');
      expect(await stored(host, OTHER)).to.have.length(1);
      await charge(OTHER, []);
      await charge(ORGANISATION, [context.team, context.strangers]);
      await until('the new organisation has it', async () => (await stored(host)).length === 1);
      expect(await stored(host, OTHER)).to.deep.equal([]);
      await charge(ORGANISATION, [context.team]);
      await manifest.is('Ready', 'False', 'NoOrganisation');
      expect(await stored(host)).to.deep.equal([]);
    } finally {
      await manifest.remove();
    }
  });

  it('that are deleted while no operator runs are removed by the next one', async () => {
    const operator = context.start(SOON);
    const manifest = await apply([issue()]);
    await manifest.is('Ready', 'True', 'Mirrored');
    await operator.stop();
    await manifest.remove();
    expect(await stored(manifest.site)).to.have.length(1);
    context.start(SOON);
    await until('nothing is in effect', async () => (await stored(manifest.site)).length === 0);
  });

  it('stay in effect while the cluster cannot list them', async () => {
    const operator = context.start(SOON);
    const manifest = await apply([issue()]);
    await manifest.is('Ready', 'True', 'Mirrored');
    await operator.stop();
    let refused = 0;
    const request: typeof context.connection.request = (method, path, options) => {
      if (!path.includes('/knownissues')) return context.connection.request(method, path, options);
      refused += 1;
      return Promise.reject(new KubernetesError(403, 'Forbidden', 'knownissues is forbidden'));
    };
    context.commands.length = 0;
    context.start(SOON, { connection: { ...context.connection, request } });
    const finds = () => context.commands.filter((command) => command === 'find knownIssues').length;
    // Each comparison reads the list, and then what is stored of the manifest.
    await until('the operator has compared twice', async () => refused > 0 && finds() >= 5);
    expect(await stored(manifest.site)).to.have.length(1);
    // Whether the resource exists does not matter any more.
    await context.stores.organisations.setNamespaces(ORGANISATION, []);
    await until('nothing is in effect', async () => (await stored(manifest.site)).length === 0);
    await context.stores.organisations.setNamespaces(ORGANISATION, [context.team]);
    await context.rest();
  });

  it('wait for the database, and say so', async () => {
    let isDown = true;
    const { knownIssues } = context.stores;
    const down = new Error('down');
    const declared: typeof knownIssues.declared = (manifest) => (isDown ? Promise.reject(down) : knownIssues.declared(manifest));
    const stores: AllStores = { ...context.stores, knownIssues: { ...knownIssues, declared } };
    const { lines } = context.start(SOON, { stores });
    const manifest = await apply([issue()]);
    const resource = await manifest.is('Ready', 'Unknown', 'StoreUnavailable');
    const key = `${context.team}/${manifest.name}`;
    expect(lines.filter(({ fields }) => fields['key'] === key).map(({ level, fields }) => [level, fields['err']])).to.deep.include(['warn', down]); // prettier-ignore
    expect(conditionOf(resource.status!.conditions, 'Reconciling')).to.include({ status: 'True' });
    isDown = false;
    await manifest.is('Ready', 'True', 'Mirrored');
  });

  it('that an operator of another class has stored stay until it has removed them', async () => {
    const former = context.start({ ...SOON, operatorClass: 'former' });
    const shared = issue();
    const first = await apply([shared], { operatorClass: 'former' });
    await first.is('Ready', 'True', 'Mirrored');
    await former.stop();
    await first.remove();
    context.start(SOON);
    const second = await apply([shared], { site: first.site, name: first.name });
    await second.is('Ready', 'False', 'IssueTaken');
    expect(await stored(first.site)).to.have.length(1);
    context.start({ ...SOON, operatorClass: 'former' });
    await until('it is removed', async () => (await context.stores.knownIssues.declaredOf('former')).length === 0);
    // The operator asks again within 30 s; a change asks at once.
    await second.patch({ issues: [shared, issue()] });
    await second.is('Ready', 'True', 'Mirrored');
  });

  it('of another operator class are left alone', async () => {
    context.start(SOON);
    const body = {
      apiVersion: API_VERSION,
      kind: 'KnownIssues',
      metadata: { name: 'other-class', namespace: context.team },
      spec: { class: 'other', site: newSite(), issues: [issue()] },
    };
    await context.connection.request('POST', pathOf(context.team), { body });
    const ours = await apply([issue()], { site: body.spec.site });
    await ours.is('Ready', 'True', 'Mirrored');
    const other = await getIfThere<KnownIssuesResource>(context.connection, KNOWN_ISSUES, context.team, 'other-class');
    expect(other!.status).to.deep.equal({ observedGeneration: -1 });
    expect(await stored(ours.site)).to.have.length(1);
    const change = context.connection.request('PATCH', pathOf(context.team, 'other-class'), {
      contentType: MERGE,
      body: { spec: { class: 'curbcut' } },
    });
    expect(String(await change.catch((error: unknown) => error))).to.include('class cannot be changed');
  });
});
