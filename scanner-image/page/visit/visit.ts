/** A visit to a page: its parameters and its result. */
import type { StateKind } from '../../../core/scan/states.ts';
import type {
  FoundInState,
  PageCaveat,
  PageFailureReason,
  PageSize,
  PageState,
  ReportViolation,
  UnopenedReason,
  UntestedFrame,
} from '../../../report/schema/page.ts';
import type { ForeignSheet } from '../axe/hidden-content.ts';
import type { PageFindings } from '../axe/results.ts';
import type { Marker } from '../../../core/scan/sign-in.ts';
import type { SignInForm, WrongPage } from '../../crawl/page-checks.ts';
import type { WaitOutcomes, WaitPlan } from '../../crawl/wait-history.ts';
import type { SessionCookie, SessionState } from '../session/session-state.ts';
import type { TakenPicture } from './pictures.ts';

/** What a visitor sees of a page. */
export interface VisibleContent {
  /** Whether the page shows a text, a control or a picture. */
  rendered: boolean;
  /** Whether its main content does. */
  own: boolean;
  /** How a layer keeps a visitor from most of the content, and its selector and name; empty if no layer is found. */
  blocked: { by: 'inert' | 'hidden' | 'covered'; layer: string } | null;
}

/** Facts that the script in the page reports. */
export interface PageFacts extends Links {
  title: string;
  language: string | null;
  contentType: string;
  /** The size of the document, in CSS pixels. */
  size: PageSize;
  /** The number of its elements, without frames. */
  elements: number;
  /** The browser's message about a document in XML that is not well formed; null if it is. */
  parserError: string | null;
  canonical: string | null;
  /** The form that asks for a password or a user name, if there is one. */
  signInForm: SignInForm | null;
  /** The HTML of a small page, to recognise bot protection; empty for a large page. */
  markup: string;
  /** Fingerprints of what the page displays: all of it, and its main content. */
  content: { whole: string; main: string };
  visible: VisibleContent;
  /** Scripts and style sheets of the document that the browser could not use. */
  failedParts: { kind: 'scripts' | 'styles'; url: string }[];
  /** Style sheets of other origins, which scripts cannot read. */
  foreignSheets: ForeignSheet[];
  /** Whether it may have frames. */
  hasFrames: boolean;
  /** Whether frames are all that the document displays. */
  isFrameset: boolean;
  /** What its frames add to a tested page. */
  frames: FrameFacts[];
}

export interface Links {
  /** Absolute links of the document and its open shadow roots, in document order, without fragments other than hash routes. Long ones are cut. */
  links: string[];
  /** The same of links that say that they are downloads. */
  files: string[];
  /** The same of links to fragments that name no place of the document. */
  hashLinks: string[];
  /** The same of links to fragments of other documents, if all fragments are routes. Those documents are in `links` too. */
  anchors: string[];
  /** The number of links that are too many for these lists. */
  linksBeyond: number;
}

export interface FrameFacts extends Links {
  /** The address of its document, or the origin to which that belongs. */
  url: string;
  content: PageFacts['content'];
}

/** What was found in the states of a page. */
export interface VisitedStates {
  states: PageState[];
  violations: ReportViolation[];
  needsReview: ReportViolation[];
  /** Rules of ours that ran in states. Those without a finding have passed. */
  passes: PageFindings['passes'];
  /** The states in which the findings at rest were found again, by rule and path. */
  alsoIn: Map<string, StateKind[]>;
  pictures: TakenPicture[];
  /** What was opened. `takeOpened` adds it when the pages before this one are known. */
  opened?: OpenedParts;
}

export interface OpenedPart {
  /** Equal for parts that look the same, of controls that do. */
  signature: string;
  state: FoundInState;
  /** Null: a part with this signature was tested before. */
  found: Pick<PageFindings, 'violations' | 'needsReview'> | null;
  pictures: TakenPicture[];
}

/** The parts of a page that were opened, and how many controls were not, by reason. */
export interface OpenedParts {
  parts: OpenedPart[];
  unopened: Partial<Record<UnopenedReason, number>>;
  /** Whether the page has frames, in which nothing is opened. */
  leavesFrames: boolean;
}

export interface VisitRequest {
  url: URL;
  /** False if only the links are needed. */
  test: boolean;
  /** Tests the page even if it displays nothing, as a test case for a single rule may. */
  mayBeEmpty?: boolean;
  /** Called for every redirect and navigation. Returns null if the page may go to this URL. */
  mayGoTo: (url: URL) => WrongPage | null;
  /** The time limit of the whole visit, in milliseconds. */
  budgetMs: number;
  /** The same for the largest pages. */
  largeBudgetMs: number;
  /** The state that the page starts with, if the scan signs in and its pages could change the state. */
  session?: SessionState;
  /** What the page must show to be signed in. */
  marker?: Marker;
  plan: WaitPlan;
  /** Asked after the test, whether to test the page in states too. Absent: no. */
  testsStates?: () => boolean;
  /** Whether a part with this signature was opened on an earlier page of the template. Absent: no. */
  knowsPart?: (signature: string) => boolean;
  /** Called when the page waits for its site, or rests between two looks; with null when it does not wait any more. */
  onWaiting?: (waits: 'site' | 'rest' | null) => void;
}

export type Visit = (
  | {
      loaded: true;
      finalUrl: URL;
      status: number;
      facts: PageFacts;
      findings: PageFindings | null;
      /** The findings of the page with the open dialog that asks for consent, if it was tested with it too. */
      withDialog?: PageFindings;
      framesUntested: UntestedFrame[];
      caveats: PageCaveat[];
      /** What was found in states of the page, if it was tested in them. */
      states?: VisitedStates;
      /** Pictures of root causes. */
      pictures: TakenPicture[];
      durationMs: number;
      /** The tab must not be used again. */
      broken: boolean;
    }
  | {
      loaded: false;
      reason: PageFailureReason;
      message: string;
      /** The type of a file, if the site names one. */
      mediaType?: string;
      finalUrl: string | null;
      status: number | null;
      retryAfterMs: number | null;
      durationMs: number;
      /** The page did not load because of files that do not arrive. A second visit is worth it, which blocks them. */
      lacksFiles?: boolean;
      /** The tab must not be used again. */
      broken: boolean;
    }
) & {
  /** The outcomes of the waits; absent if the page was not visited. */
  outcomes?: WaitOutcomes;
  /** The cookies after the visit, if it started with the state of a session. */
  cookies?: SessionCookie[];
};

export type FailedVisit = Extract<Visit, { loaded: false }>;

/** Ends a visit early. */
export class VisitEnded extends Error {
  override readonly name = 'VisitEnded';
  readonly reason: PageFailureReason;
  /** The tab must not be used again. */
  readonly broken: boolean;
  constructor(reason: PageFailureReason, message: string, broken = false) {
    super(message);
    this.reason = reason;
    this.broken = broken;
  }
}

/** The page stopped responding when it was scrolled. */
export class HungOnScroll extends VisitEnded {
  constructor(limitMs: number) {
    super(
      'timeout',
      `The page stopped responding when it was scrolled (for ${(limitMs / 1000).toFixed(0)} s). Look for a script that handles scrolling and does not return.`,
      true,
    );
  }
}

/** The time of one visit, in milliseconds. */
export interface VisitClock {
  budgetMs: number;
  spent(): number;
  left(): number;
}

export function startVisitClock(budgetMs: number): VisitClock {
  const started = performance.now();
  const clock: VisitClock = {
    budgetMs,
    spent: () => Math.round(performance.now() - started),
    left: () => clock.budgetMs - (performance.now() - started),
  };
  return clock;
}

/** The pages with more elements than this get more time: axe-core took 33 s for 60,000 elements. */
const LARGE_PAGE = 20_000;
const MS_PER_ELEMENT = 1.5;

/** The time limit of a visit to a page with so many elements, in milliseconds. */
export const budgetFor = ({ budgetMs, largeBudgetMs }: Budget, elements: number): number =>
  elements > LARGE_PAGE ? Math.min(largeBudgetMs, budgetMs + elements * MS_PER_ELEMENT) : budgetMs;

type Budget = Pick<VisitRequest, 'budgetMs' | 'largeBudgetMs'>;

/** The budget of a visit that must end within `ms` milliseconds. */
export const atMost = (ms: number, { budgetMs, largeBudgetMs }: Budget): Budget => ({
  budgetMs: Math.min(budgetMs, ms),
  largeBudgetMs: Math.min(largeBudgetMs, ms),
});

export function createConditionVariable() {
  const waiting = new Set<() => void>();
  return {
    /** Call it after every change of the state. */
    notify(): void {
      for (const check of [...waiting]) check();
    },
    /** Waits until `holds` returns true. @returns false after `ms` milliseconds */
    waitFor(holds: () => boolean, ms: number): Promise<boolean> {
      if (holds()) return Promise.resolve(true);
      return new Promise((resolve) => {
        const end = (value: boolean): void => {
          clearTimeout(timer);
          waiting.delete(check);
          resolve(value);
        };
        const check = (): void => {
          if (holds()) end(true);
        };
        const timer = setTimeout(() => end(holds()), Math.max(0, ms));
        waiting.add(check);
      });
    },
  };
}

/** Waits for a condition that events change. */
export type ConditionVariable = ReturnType<typeof createConditionVariable>;
