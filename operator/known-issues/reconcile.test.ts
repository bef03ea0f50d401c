import { expect } from 'chai';
import { API_VERSION } from '../../core/protocol/custom-resources.ts';
import type { DeclaredKnownIssue, KnownIssuesResource, KnownIssuesStatus } from '../../core/protocol/known-issues-resources.ts';
import type { KnownIssueRow } from '../../stores/known-issues/known-issues.ts';
import type { Declaration, StoredDeclaration } from '../../stores/known-issues/manifest-known-issues.ts';
import { ago, condition, NOW } from '../../test/support/scan-samples.ts';
import { contextOf } from '../../test/support/operator-context.ts';
import { type KnownIssuesFacts, type KnownIssuesWrites, reconcileKnownIssues } from './reconcile.ts';

const DAY_MS = 86_400_000;
const inDays = (days: number): Date => new Date(NOW.getTime() + days * DAY_MS);
const [MANIFEST, FINGERPRINT] = [{ operatorClass: 'curbcut', namespace: 'team', name: 'accepted' }, '0123456789abcdef'];
const issue = (days: number, name?: string): DeclaredKnownIssue => ({
  ...(name !== undefined && { name }),
  fingerprint: FINGERPRINT,
  reason: 'r',
  owner: 'o',
  expiresAt: inDays(days).toISOString(),
});
const resource = (issues: DeclaredKnownIssue[], { site = 'a.example', status = {} } = {}): KnownIssuesResource => ({
  apiVersion: API_VERSION,
  kind: 'KnownIssues',
  metadata: { name: MANIFEST.name, namespace: MANIFEST.namespace, uid: 'u1', generation: 1, creationTimestamp: ago(60) },
  spec: { site, issues },
  status,
});
const holder = (days: number): KnownIssueRow => ({
  id: 'other',
  organisation: 'acme',
  site: 'a.example',
  fingerprint: FINGERPRINT,
  reason: 'r',
  owner: 'o',
  createdBy: 'ann@example.com',
  createdAt: NOW,
  expiresAt: inDays(days),
  manifest: null,
});
const facts = (more: Partial<KnownIssuesFacts> = {}, holders: KnownIssueRow[] = []): KnownIssuesFacts => ({
  manifest: MANIFEST,
  resource: null,
  isListed: true,
  owner: { state: 'owned', organisation: 'acme', blocked: false },
  record: { stored: null, occupied: { holders: new Map(holders.map((row) => [FINGERPRINT, row])), free: 500 }, matches: null },
  now: NOW,
  ...more,
});
type Write =
  { do: 'declare'; declaration: Declaration; before: number | null } | { do: 'withdraw' } | { do: 'writeStatus'; patch: KnownIssuesStatus };

/** Reconciles once. @returns what was written, and the delay until the next reconcile; null if it waits for an event */
async function reconcile(input: KnownIssuesFacts): Promise<{ actions: Write[]; wakeAfterMs: number | null }> {
  const actions: Write[] = [];
  const write = async (action: Write): Promise<boolean> => actions.push(action) > 0;
  const writes = {
    client: { patchStatus: (_: unknown, patch: KnownIssuesStatus) => write({ do: 'writeStatus', patch }) },
    context: contextOf({
      stores: {
        knownIssues: {
          declare: (declaration, before) => write({ do: 'declare', declaration, before }),
          withdraw: () => write({ do: 'withdraw' }),
        },
        organisations: { record: async () => true },
      },
    }),
    onFreed: () => undefined,
  } as unknown as KnownIssuesWrites;
  const next = await reconcileKnownIssues(input, writes, new AbortController().signal);
  return { actions, wakeAfterMs: next === 'again' ? null : (next.requeueAfterMs ?? null) };
}

/** The reconcile when what the first one declares is stored. */
async function reconcileStored(input: KnownIssuesFacts): ReturnType<typeof reconcile> {
  const [action] = (await reconcile(input)).actions;
  if (action?.do !== 'declare') throw new Error('it declares nothing');
  const live = action.declaration.issues.filter(({ expiresAt }) => expiresAt > NOW).length;
  return reconcile({ ...input, record: { ...input.record!, stored: { ...action.declaration, revision: 1, live } } });
}

describe('the reconcile of known issues', () => {
  it('looks again when what another one has ends', async () => {
    const input = (days: number) => facts({ resource: resource([issue(90)]) }, [holder(days)]);
    const seconds = 10 / 86_400;
    expect((await reconcileStored(input(seconds))).wakeAfterMs).to.equal(10_000);
    // Someone may remove it earlier; and one that has ended and is not removed yet is no reason to hurry.
    for (const days of [5, -1]) expect((await reconcileStored(input(days))).wakeAfterMs).to.equal(30_000);
  });

  it('has one of those about the same: the one that ends last, unless two have not ended', async () => {
    const applied = async (...issues: DeclaredKnownIssue[]) => {
      const [action] = (await reconcile(facts({ resource: resource(issues) }))).actions;
      return action?.do === 'declare' ? action.declaration.issues.map(({ expiresAt }) => expiresAt) : null;
    };
    expect(await applied(issue(-1), issue(9), issue(-2))).to.deep.equal([inDays(9)]);
    expect(await applied(issue(-2), issue(-1))).to.deep.equal([inDays(-1)]);
    expect(await applied(issue(8), issue(9))).to.deep.equal([inDays(8)]);
    const stored = await reconcileStored(facts({ resource: resource([issue(8), issue(-1), issue(9, 'second')]) }));
    const [write] = stored.actions;
    const conditions = write?.do === 'writeStatus' ? write.patch.conditions : null;
    expect(conditions!.find(({ type }) => type === 'Ready')!.message).to.include('second is about the same as one before it. For');
  });

  it('states that none ends if none is in effect', async () => {
    const status: KnownIssuesStatus = { conditions: [condition('Ending', 'True', 'EndingSoon')] };
    const endingOf = async (more: Partial<KnownIssuesFacts>) => {
      const [write] = (await reconcile(facts(more))).actions;
      return write?.do === 'writeStatus' ? write.patch.conditions?.find(({ type }) => type === 'Ending')?.status : null;
    };
    expect(await endingOf({ resource: resource([issue(1)], { status }), owner: { state: 'none' } })).to.equal('False');
    expect(await endingOf({ resource: resource([issue(1)], { status, site: 'a..b:99999' }) })).to.equal('False');
  });

  describe('of a manifest that does not exist', () => {
    const stored: StoredDeclaration = {
      ...MANIFEST,
      uid: 'u1',
      generation: 1,
      organisation: 'acme',
      site: 'a.example',
      createdAt: NOW,
      issues: [],
      revision: 3,
      live: 0,
    };
    const record = { stored, occupied: null, matches: null };
    const withdraws = async (more: Partial<KnownIssuesFacts>) =>
      (await reconcile(facts({ record, ...more }))).actions.map((action) => action.do);

    it('withdraws what is stored', async () => {
      expect(await withdraws({})).to.deep.equal(['withdraw']);
    });

    it('keeps what is stored while nothing lists it, as long as its organisation has the namespace', async () => {
      expect(await withdraws({ isListed: false })).to.deep.equal([]);
      expect(await withdraws({ isListed: false, owner: { state: 'unknown' } })).to.deep.equal([]);
      expect(await withdraws({ isListed: false, owner: { state: 'none' } })).to.deep.equal(['withdraw']);
      expect(await withdraws({ isListed: false, owner: { state: 'owned', organisation: 'globex', blocked: false } })).to.deep.equal([
        'withdraw',
      ]);
    });
  });
});
