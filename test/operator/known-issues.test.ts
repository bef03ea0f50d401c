/** KnownIssues resources: what they accept is in effect for the scans of the organisation, and their status says what is and why. */
import { randomBytes, randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { API_VERSION, type Condition } from '../../core/protocol/custom-resources.ts';
import type { DeclaredKnownIssue, KnownIssuesResource } from '../../core/protocol/known-issues-resources.ts';
import { KNOWN_ISSUES } from '../../operator/known-issues/controller.ts';
import { conditionOf } from '../../operator/runtime/conditions.ts';
import type { KubernetesError } from '../../platform/kubernetes/kubernetes.ts';
import type { KnownIssueRow } from '../../stores/known-issues/known-issues.ts';
import { rootCauseFingerprint } from '../../report/causes/root-causes.ts';
import { testedPages } from '../../report/schema/page.ts';
import { bytesOf, pagesOf, reportOf } from '../support/scan-results.ts';
import { ORGANISATION, TARGET, until, useContext } from './context.ts';
import { getIfThere } from './simulated-scan.ts';

const MERGE = 'application/merge-patch+json';
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
  before(() => context.grant(1_000));
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
    { site = newSite(), namespace = context.team, name = `accepted-${randomUUID().slice(0, 8)}` } = {},
  ) {
    const spec = { site, issues };
    const body = { apiVersion: API_VERSION, kind: 'KnownIssues', metadata: { name, namespace }, spec };
    await context.connection.request<KnownIssuesResource>('POST', pathOf(namespace), { body });
    const read = () => getIfThere<KnownIssuesResource>(context.connection, KNOWN_ISSUES, namespace, name);
    return {
      name,
      site,
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
    };
  }
  const stored = (site: string): Promise<KnownIssueRow[]> => context.stores.knownIssues.list(ORGANISATION, { site, limit: 1000 });

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
});
