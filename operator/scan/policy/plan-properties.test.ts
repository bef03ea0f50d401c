import fc from 'fast-check';
import { PHASES, isTerminal } from '../../../core/scan/phases.ts';
import type { AccessibilityScanStatus } from '../../../core/protocol/custom-resources.ts';
import {
  NOW,
  TIMEOUTS,
  ago,
  condition,
  endedPod,
  factsOf,
  failedBy,
  jobWith,
  messagesOf,
  pendingPod,
  podName,
  progress,
  refusedAttempts,
  runningPod,
  scanWith,
  searched,
  secondsAgo,
  storedBy,
} from '../../../test/support/scan-samples.ts';
import { plan } from './plan.ts';
import type { Action, Facts } from './facts.ts';
import { phaseOf, type StatusPatch } from './status.ts';

const free = { metadata: { finalizers: [] } };

describe('plan, for arbitrary facts', () => {
  const phase = fc.constantFrom(...PHASES);
  const attempt = fc.constantFrom(0, 1, 2);
  const pages = fc.record({ scanned: fc.nat(9), failed: fc.nat(9), total: fc.nat(20) });
  const status = fc.record(
    {
      phase,
      attempts: fc.nat(3),
      podName: attempt.map(podName),
      jobName: fc.constant(jobWith().metadata.name),
      completionTime: fc.constant(ago(5)),
      pages: fc.record({ requested: fc.constant(5), reserved: fc.constant(5), scanned: fc.nat(5), failed: fc.nat(5) }),
      conditions: fc.constantFrom([], [condition('Admitted', 'True', 'Admitted')], [condition('Admitted', 'False', 'Queued')]),
    },
    { requiredKeys: ['phase', 'pages', 'conditions'] },
  );
  const scan = fc
    .record({
      status: fc.option(status, { nil: undefined }),
      generation: fc.constantFrom(1, 1, 2),
      cancel: fc.constantFrom(null, 0, 70, 5),

      deleted: fc.boolean(),
      claimed: fc.boolean(),
    })
    .map(({ status: is, generation, cancel, deleted, claimed }) =>
      // `cancel`: the seconds since its pod was told to stop; null: not canceled; 0: canceled just now.
      scanWith((is && { ...is, ...(cancel && { cancelTime: ago(cancel) }) }) as AccessibilityScanStatus | undefined, {
        spec: { cancel: cancel !== null, ttlSecondsAfterFinished: 3 },
        metadata: { generation, ...(deleted && { deletionTimestamp: ago(1) }), ...(!claimed && free.metadata) },
      }),
    );
  const final = fc.oneof(attempt.map(storedBy), attempt.map(failedBy));
  const pod = fc.oneof(
    attempt.map((n) => pendingPod(n)),
    attempt.map((n) => runningPod(n)),
    fc.tuple(attempt, fc.constantFrom(0, 1, 42)).map(([n, code]) => endedPod(n, code)),
  );
  const facts: fc.Arbitrary<Facts> = fc.record({
    scan,
    scanId: fc.constant(factsOf().scanId),
    now: fc.constant(NOW),
    job: fc.constantFrom(null, jobWith(), jobWith({ type: 'Complete' }), jobWith({ type: 'Failed', reason: 'FailedIndexes' })),
    scannerImage: fc.constantFrom('scanner:1', 'scanner:2'),
    retries: fc.constantFrom(0, 2),
    pods: fc.uniqueArray(pod, { selector: (one) => one.metadata.name, maxLength: 3 }),
    startFailure: fc.constantFrom(null, 'exceeded quota', 'Failed to create pod sandbox: user namespaces are not supported'),
    podMessages: fc
      .record({
        progress: fc.option(
          fc
            .record({
              attempt,
              phase: fc.constantFrom('crawling' as const, 'scanning' as const, 'aggregating' as const, 'generating' as const),
              pages,
            })
            .map(({ attempt: of, ...more }) => progress(of, more)),
        ),
        at: fc.constant(secondsAgo(1)),
        final: fc.array(final, { maxLength: 2 }),
      })
      .map(messagesOf),
    queuePauses: fc.constant([]),
    busSince: fc.constantFrom(null, secondsAgo(50)),
    state: fc
      .record({
        search: fc.constantFrom(null, searched(), searched(0), searched(1, 5)),
        noPodSince: fc.constantFrom(null, secondsAgo(10)),
        refused: fc.uniqueArray(attempt).map((attempts) => refusedAttempts(...attempts)),
        mirrored: fc.option(fc.record({ phase, pages, message: fc.constant(null) })),
        mirroredAt: fc.constantFrom(null, secondsAgo(9)),
        statusAt: fc.constantFrom(null, secondsAgo(9)),
      })
      .map((state) => factsOf({ state }).state),
  });

  const written = (actions: readonly Action[]): StatusPatch[] =>
    actions.flatMap((action) => (action.do === 'observe' ? [action.status] : []));

  it('never changes a scan that has ended', () => {
    fc.assert(
      fc.property(facts, (known) => {
        if (!isTerminal(phaseOf(known.scan))) return true;
        return plan(known, TIMEOUTS).actions.every(({ do: what }) =>
          ['observeGeneration', 'removeJob', 'finish', 'release', 'expire'].includes(what),
        );
      }),
      { numRuns: 2000 },
    );
  });

  it('states a change of the spec in the status, unless the scan is being deleted', () => {
    fc.assert(
      fc.property(facts, (known) => {
        const { metadata, status: before } = known.scan;
        if (before?.conditions === undefined || metadata.generation === 1 || metadata.deletionTimestamp !== undefined) return true;
        const names = plan(known, TIMEOUTS).actions.map(({ do: what }) => what);
        // A scan is claimed first. Each end states the generation.
        return ['observeGeneration', 'claim', 'markCanceling', 'end'].includes(names[0]!);
      }),
      { numRuns: 2000 },
    );
  });

  it('never moves a phase backwards and never lowers a count', () => {
    fc.assert(
      fc.property(facts, (known) => {
        const before = known.scan.status;
        return written(plan(known, TIMEOUTS).actions).every(
          (patch) =>
            PHASES.indexOf(patch.phase!) >= PHASES.indexOf(phaseOf(known.scan)) &&
            patch.pages!.scanned >= (before?.pages?.scanned ?? 0) &&
            patch.pages!.failed >= (before?.pages?.failed ?? 0) &&
            patch.pages!.scanned <= 5 &&
            patch.attempts! >= (before?.attempts ?? 0),
        );
      }),
      { numRuns: 2000 },
    );
  });

  it('never repeats an action, acts after an end, or releases before finishing', () => {
    fc.assert(
      fc.property(facts, (known) => {
        const names = plan(known, TIMEOUTS)
          .actions.map(({ do: what }) => what)
          .filter((what) => what !== 'failLostPod');
        if (new Set(names).size !== names.length) return false;
        if (names.includes('end') && names.length > 1) return false;
        return !names.includes('release') || names.indexOf('finish') === names.indexOf('release') - 1;
      }),
      { numRuns: 2000 },
    );
  });

  it('plans nothing more after its decisions are written', () => {
    fc.assert(
      fc.property(facts, (known) => {
        const { actions } = plan(known, TIMEOUTS);
        const [status] = written(actions);
        const mirror = actions.find((action) => action.do === 'mirror');
        if (status === undefined && mirror === undefined) return true;
        const clean = Object.fromEntries(Object.entries({ ...known.scan.status, ...status }).filter(([, value]) => value !== null));
        const after = {
          ...known,
          scan: { ...known.scan, status: clean },
          state: { ...known.state, mirrored: mirror?.row ?? known.state.mirrored },
        } as Facts;
        return plan(after, TIMEOUTS).actions.every(({ do: what }) => what === 'failLostPod');
      }),
      { numRuns: 2000 },
    );
  });

  it('always acts or sets a wake-up time for a live scan', () => {
    fc.assert(
      fc.property(facts, (known) => {
        const { actions, wakeAfterMs } = plan(known, TIMEOUTS);
        if (known.scan.metadata.deletionTimestamp !== undefined || isTerminal(phaseOf(known.scan))) return true;
        return actions.length > 0 || wakeAfterMs !== null;
      }),
      { numRuns: 2000 },
    );
  });
});
