import { expect } from 'chai';
import { API_VERSION } from '../../core/protocol/custom-resources.ts';
import type { DeclaredKnownIssue, KnownIssuesResource, KnownIssuesStatus } from '../../core/protocol/known-issues-resources.ts';
import type { KnownIssueRow } from '../../stores/known-issues/known-issues.ts';
import type { Declaration, StoredDeclaration } from '../../stores/known-issues/manifest-known-issues.ts';
import { ago, NOW } from '../../test/support/scan-samples.ts';
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

/** Reconciles once. @returns what was written, the reasons of the Events, and the delay until the next reconcile; null if it waits */
async function reconcile(input: KnownIssuesFacts): Promise<{ actions: Write[]; events: string[]; wakeAfterMs: number | null }> {
  const actions: Write[] = [];
  const events: string[] = [];
  const write = async (action: Write): Promise<boolean> => actions.push(action) > 0;
  const writes = {
    client: { patchStatus: (_: unknown, patch: KnownIssuesStatus) => write({ do: 'writeStatus', patch }) },
    context: contextOf({
      recorder: { event: (_object, _type, reason) => void events.push(reason) },
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
  return { actions, events, wakeAfterMs: next === 'again' ? null : (next.requeueAfterMs ?? null) };
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

  /** The conditions that are written when what can be declared is stored, as `Type=Status Reason`, and the message of Ready. */
  async function stated(input: KnownIssuesFacts) {
    const first = await reconcile(input);
    const { actions, events } = first.actions[0]?.do === 'declare' ? await reconcileStored(input) : first;
    const [write] = actions;
    if (write?.do !== 'writeStatus') throw new Error('it states nothing');
    const { conditions = [], ...amounts } = write.patch;
    const message = (type: string) => conditions.find((one) => one.type === type)?.message;
    return { shown: conditions.map(({ type, status, reason }) => `${type}=${status} ${reason}`), message, amounts, events };
  }
  const other = (days: number, name: string): DeclaredKnownIssue => ({ ...issue(days, name), fingerprint: 'f'.repeat(16) });
  const full = { stored: null, occupied: { holders: new Map(), free: 1 }, matches: null };
  const UNAPPLIED: [what: string, input: KnownIssuesFacts, ready: string, message: RegExp][] = [
    [
      'ends too late',
      facts({ resource: resource([issue(9), other(400, 'far')]) }),
      'False Invalid',
      /far ends more than 366 days ahead.*1 known/,
    ],
    [
      'is taken',
      facts({ resource: resource([issue(90, 'mine')]) }, [holder(5)]),
      'False IssueTaken',
      /mine is accepted already over REST \(other\)/,
    ],
    [
      'exceeds the limit',
      facts({ resource: resource([issue(9), other(9, 'last')]), record: full }),
      'False TooManyIssues',
      /last exceeds the 500/,
    ],
    ['has no site', facts({ resource: resource([issue(1)], { site: 'a..b:99999' }) }), 'False Invalid', /a\.\.b:99999 is not a host/],
    ['has no organisation', facts({ resource: resource([issue(1)]), owner: { state: 'none' } }), 'False NoOrganisation', /namespace team/],
    ['waits for the database', facts({ resource: resource([issue(1)]), record: null }), 'Unknown StoreUnavailable', /until the database/],
  ];
  for (const [what, input, ready, message] of UNAPPLIED)
    it(`states why a known issue is not in effect that ${what}`, async () => {
      const { shown, message: of, events } = await stated(input);
      expect(shown).to.include(`Ready=${ready}`);
      expect(of('Ready')).to.match(message);
      if (ready.startsWith('False') && !ready.includes('NoOrganisation')) expect(events).to.include(ready.split(' ')[1]);
      else expect(events).to.deep.equal([]);
    });

  it('states that none ends if none is in effect', async () => {
    const { shown } = await stated(facts({ resource: resource([issue(1)]), owner: { state: 'none' } }));
    expect(shown).to.include('Ending=False NoneEnds');
  });

  it('names those that end soon or have ended, the soonest first', async () => {
    const soon = facts({ resource: resource([issue(20, 'late'), other(3, 'soon')]) });
    const { shown, amounts, events } = await stated(soon);
    expect(events).to.deep.equal(['EndingSoon']);
    expect(shown).to.include('Ending=True EndingSoon');
    expect(amounts).to.deep.include({ live: 2, ending: 2, expired: 0, endingNames: ['soon', 'late'] });
    const ended = await stated(facts({ resource: resource([issue(-1, 'over'), other(90, 'later')]) }));
    expect(ended.shown).to.include('Ending=True Expired').and.include('Ready=True Mirrored');
    expect(ended.message('Ending')).to.match(/^Ended, so that violations count again: over\./);
    expect(ended.events).to.deep.equal(['Expired']);
    expect(ended.amounts).to.include({ live: 1, ending: 0, expired: 1 });
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

    it('withdraws what is stored for another organisation than that of the namespace now', async () => {
      const owner = { state: 'owned', organisation: 'globex', blocked: false } as const;
      expect(
        await withdraws({ resource: resource([issue(9)]), owner, record: { ...record, occupied: { holders: new Map(), free: 500 } } }),
      ).to.deep.equal(['withdraw']);
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
