/** A queue with its operator in memory, for property tests: resources, clock, gate and planner, without a cluster. */
import type { AccessibilityScan, ScanQueueSpec } from '../../core/protocol/custom-resources.ts';
import { decideAdmission } from '../../operator/queue/admission.ts';
import { type AdmissionGate, createAdmissionGate, type Limits, limitsOf } from '../../operator/queue/places.ts';
import { admissionStateOf, type AdmissionState } from '../../operator/queue/waiting.ts';
import { timestamp } from '../../platform/clock.ts';
import { scanWith } from './scan-samples.ts';

const QUEUE = 'default';
const DEFAULT_MAX_RUNNING = 4;

export interface Admission {
  organisation: string;
  scan: string;
  by: 'gate' | 'plan';
}

export interface SimulatedQueue {
  /** The scans that were given a place, in that order, whether the write has arrived or not. */
  readonly admissions: readonly Admission[];
  readonly limits: Limits;
  readonly paused: boolean;
  /** Adds a scan, which takes a place at once if the gate has one. @param lands whether that write arrives now, later, or never */
  submit(organisation: string, priority: number, lands: 'now' | 'later'): void;
  /** Plans, and writes at most `writes` admissions: the operator may crash or meet a conflict between any two. */
  plan(writes?: number): void;
  /** Replaces the ScanQueue's spec, and plans, as its event does. */
  configure(spec: ScanQueueSpec): void;
  /** Starts the pod of a scan. @param which any number; it selects one of the scans */
  start(which: number): void;
  /** Ends a running scan. @param kept whether its resource stays */
  end(which: number, kept: boolean): void;
  /** Deletes a scan in any state. */
  remove(which: number): void;
  /** Another replica takes over: it knows only the resources. @param landed how many of the pending writes arrive before */
  failOver(landed: number): void;
  tick(ms: number): void;
  waiting(organisation: string): number;
  /** The scans that have a place, including those whose admission is being written. */
  running(organisation: string): number;
  /** Those of them whose pod has not started. */
  starting(organisation: string): number;
}

export function simulateQueue(): SimulatedQueue {
  const scans = new Map<string, AccessibilityScan>();
  /** Admissions by the gate that are being written. */
  const pending: { uid: string; organisation: string }[] = [];
  const admissions: Admission[] = [];
  let spec: ScanQueueSpec = {};
  let now = Date.parse('2026-03-02T10:00:00Z');
  const clock = { now: () => new Date(now) };
  let gate: AdmissionGate = createAdmissionGate(clock);
  let created = 0;

  const all = () => [...scans.values()];
  const pick = (from: readonly AccessibilityScan[], which: number) => from[which % from.length];
  const standing = (...standings: AdmissionState[]) => all().filter((scan) => standings.includes(admissionStateOf(scan)));

  function write(scan: AccessibilityScan, status: object): void {
    scans.set(scan.metadata.uid!, { ...scan, status: { ...scan.status, ...status } });
  }

  function admit(scan: AccessibilityScan, organisation: string): void {
    const lastTransitionTime = timestamp(new Date(now));
    const conditions = [{ type: 'Admitted', status: 'True', reason: 'Admitted', message: '', lastTransitionTime }];
    write(scan, { phase: 'queued', organisation, conditions });
  }

  function land({ uid, organisation }: (typeof pending)[number]): void {
    const scan = scans.get(uid);
    if (scan !== undefined) admit(scan, organisation);
    gate.settled(QUEUE, uid);
  }

  const count = (organisation: string, ...standings: AdmissionState[]) =>
    standing(...standings).filter(({ status }) => status?.organisation === organisation).length;
  const unwritten = (organisation: string) => pending.filter((one) => one.organisation === organisation && scans.has(one.uid)).length;

  const simulated: SimulatedQueue = {
    admissions,
    get limits() {
      return limitsOf({ metadata: { name: QUEUE }, spec }, DEFAULT_MAX_RUNNING);
    },
    get paused() {
      return spec.paused === true;
    },
    submit(organisation, priority, lands) {
      const uid = `${organisation}-${(created += 1)}`;
      const metadata = { name: uid, uid, creationTimestamp: timestamp(new Date(now)) };
      const scan = scanWith({ phase: 'queued', organisation }, { metadata, spec: { priority } });
      if (!gate.take(QUEUE, { uid, organisation, namespace: scan.metadata.namespace! })) return void scans.set(uid, scan);
      admissions.push({ organisation, scan: uid, by: 'gate' });
      // It is not vetted until the write lands.
      scans.set(uid, scanWith(undefined, { metadata, spec: { priority } }));
      if (lands === 'now') land({ uid, organisation });
      else pending.push({ uid, organisation });
    },
    plan(writes = Number.POSITIVE_INFINITY) {
      for (const one of pending.splice(0, pending.length / 2)) land(one);
      const closed = gate.close(QUEUE);
      const queue = { apiVersion: 'curbcut.dev/v1', kind: 'ScanQueue', metadata: { name: QUEUE }, spec };
      const decision = decideAdmission({
        pauses: [],
        ...closed,
        scans: all(),
        queue,
        defaultMaxRunning: DEFAULT_MAX_RUNNING,
        isLeftOut: () => false,
        now: new Date(now),
      });
      gate.open(QUEUE, decision.places);
      for (const scan of decision.admit.slice(0, writes)) {
        const organisation = scan.status!.organisation!;
        admissions.push({ organisation, scan: scan.metadata.uid!, by: 'plan' });
        admit(scan, organisation);
        gate.hold(QUEUE, scan.metadata.uid!, { organisation, pods: 1 });
        gate.settled(QUEUE, scan.metadata.uid!);
      }
    },
    configure(to) {
      spec = to;
      simulated.plan();
    },
    start(which) {
      const scan = pick(standing('starting'), which);
      if (scan !== undefined) write(scan, { phase: 'crawling', startTime: timestamp(new Date(now)) });
    },
    end(which, kept) {
      const scan = pick(standing('starting', 'running'), which);
      if (scan === undefined) return;
      if (kept) write(scan, { phase: 'done' });
      else scans.delete(scan.metadata.uid!);
    },
    remove(which) {
      const scan = pick(all(), which);
      if (scan !== undefined) scans.delete(scan.metadata.uid!);
    },
    failOver(landed) {
      // A write of the old leader arrives before the new one lists, because the lease ends later than its requests, or never.
      for (const one of pending.splice(0, landed)) land(one);
      // The new leader vets the scans again whose write was lost.
      for (const { uid, organisation } of pending.splice(0)) {
        const scan = scans.get(uid);
        if (scan !== undefined) write(scan, { phase: 'queued', organisation });
      }
      gate = createAdmissionGate(clock);
    },
    tick: (ms) => void (now += ms),
    waiting: (organisation) => count(organisation, 'waiting'),
    running: (organisation) => count(organisation, 'starting', 'running') + unwritten(organisation),
    starting: (organisation) => count(organisation, 'starting') + unwritten(organisation),
  };
  simulated.plan();
  return simulated;
}
