/** The phases of a scan: one table, from which every list of phases is derived. */

/** Phases in the order in which a scan goes through them, then the three in which it ends. */
export const PHASE_TABLE = {
  queued: { kind: 'waiting', meaning: 'Waits for its turn in the queue, then for its pod to start.' },
  crawling: { kind: 'pod', meaning: 'The pod runs and looks for pages.' },
  scanning: { kind: 'pod', meaning: 'The pod tests pages.' },
  aggregating: { kind: 'pod', meaning: 'The pod groups the findings.' },
  generating: { kind: 'pod', meaning: 'The pod writes and uploads the reports.' },
  done: { kind: 'terminal', meaning: 'The results are verified and stored.' },
  failed: { kind: 'terminal', meaning: 'The scan ended without a result; `status.message` gives the reason.' },
  canceled: { kind: 'terminal', meaning: 'The scan was canceled or deleted. Pages that a canceled scan had tested have a partial report.' },
} as const satisfies Record<string, { kind: 'waiting' | 'pod' | 'terminal'; meaning: string }>;

type Table = typeof PHASE_TABLE;
export type Phase = keyof Table;
type PhaseOf<Kind> = { [P in Phase]: Table[P]['kind'] extends Kind ? P : never }[Phase];
export type TerminalPhase = PhaseOf<'terminal'>;
export type LivePhase = Exclude<Phase, TerminalPhase>;
/** The phases that a pod reports. */
export type PodPhase = PhaseOf<'pod'>;

export const PHASES = Object.keys(PHASE_TABLE) as [Phase, ...Phase[]];
export const TERMINAL_PHASES = PHASES.filter(isTerminal);
export const LIVE_PHASES = PHASES.filter((phase): phase is LivePhase => !isTerminal(phase));
export const POD_PHASES = PHASES.filter((phase): phase is PodPhase => PHASE_TABLE[phase].kind === 'pod');

/** Returns false for an unknown phase: clients must keep following a scan whose phase is newer than they are. */
export function isTerminal(phase: string): phase is TerminalPhase {
  return Object.hasOwn(PHASE_TABLE, phase) && PHASE_TABLE[phase as Phase].kind === 'terminal';
}

/**
 * Whether a scan in `from` may move to `to`. A scan never moves backwards and never leaves a terminal phase. It may skip
 * phases, because messages can be lost. The same phase again is not a move.
 */
export function mayMove(from: Phase, to: Phase): boolean {
  if (isTerminal(from)) return false;
  if (to === 'failed' || to === 'canceled') return true;
  return PHASES.indexOf(to) > PHASES.indexOf(from);
}

/** Every reason of the `Succeeded` condition of an ended scan, by phase. The metrics start each at 0, so that alerts see the first. */
export const END_REASONS = {
  done: ['Done'],
  canceled: ['Canceled', 'Deleted'],
  failed: [
    'BotWall',
    'ContainerConfig',
    'Crashed',
    'DeadlineExceeded',
    'GaveUp',
    'ImagePull',
    'InsufficientCredits',
    'JobLost',
    'LaunchRefused',
    'AddressListRefused',
    'MetadataRefused',
    'NameTaken',
    'NoOrganisation',
    'NoPageTested',
    'NoResults',
    'NothingShown',
    'NotWatched',
    'OrganisationBlocked',
    'PodPending',
    'PodsLost',
    'PrepareFailed',
    'QueueDeadline',
    'RedirectedAway',
    'ReportTooLarge',
    'ResultsRefused',
    'RobotsDisallowed',
    'ScanIdTaken',
    'StoreUnavailable',
    'SignInFailed',
    'SignInRequired',
    'SignInSecretMissing',
    'Stuck',
    'SubmissionAbandoned',
    'TargetNotHtml',
    'TargetRefused',
    'TargetUnreachable',
    'PodTemplateRefused',
    'TooManyPages',
    'UserNamespacesUnavailable',
  ],
} as const satisfies Record<TerminalPhase, readonly string[]>;

export type FailureReason = (typeof END_REASONS)['failed'][number];
export type CancelReason = (typeof END_REASONS)['canceled'][number];

/**
 * The failures that readers tell apart; `report/words/` has a text for each. `ours`: the service, its configuration or its cluster
 * failed, not the page.
 */
export const FAILURE_KINDS = [
  'unreachable',
  'refused',
  'notHtml',
  'signInPage',
  'botWall',
  'blank',
  'redirected',
  'untestable',
  'signIn',
  'prepare',
  'robots',
  'tooSlow',
  'tooLarge',
  'crashed',
  'ours',
] as const;
export type FailureKind = (typeof FAILURE_KINDS)[number];

/** The failures that the page or the request caused. All others are ours. */
const CAUSED_BY_PAGE: ReadonlyMap<string | undefined, FailureKind> = new Map(
  Object.entries({
    TargetUnreachable: 'unreachable',
    TargetRefused: 'refused',
    TargetNotHtml: 'notHtml',
    SignInRequired: 'signInPage',
    BotWall: 'botWall',
    NothingShown: 'blank',
    RedirectedAway: 'redirected',
    NoPageTested: 'untestable',
    SignInFailed: 'signIn',
    SignInSecretMissing: 'signIn',
    PrepareFailed: 'prepare',
    RobotsDisallowed: 'robots',
    DeadlineExceeded: 'tooSlow',
    Stuck: 'tooSlow',
    ReportTooLarge: 'tooLarge',
    Crashed: 'crashed',
  } satisfies Partial<Record<FailureReason, FailureKind>>),
);

/** @param reason that of the `Succeeded` condition. Undefined: the resource was gone before it had one */
export function failureKindOf(reason: string | undefined): FailureKind {
  return CAUSED_BY_PAGE.get(reason) ?? 'ours';
}

/** The last sentence of the message of a scan that cost nothing. */
export const NOT_CHARGED = 'Nothing was charged.';

/** The message of an ended scan for users who never pay. */
export const withoutCharge = (message: string): string => message.replaceAll(NOT_CHARGED, '').trim();
