/** Root causes of an export, and how they changed since the baseline. */
import { type Static, Type } from 'typebox';
import { oneOf } from '../../core/schemas.ts';
import { STATE_KINDS } from '../../core/scan/states.ts';
import { closed, Count, Fingerprint, Impact, ReportNode } from './page.ts';

/** The largest number of known issues that a root cause lists. */
export const KNOWN_MARKS_MAX = 10;

/** A known issue that covers elements of a root cause. */
export const KnownMark = Type.Object(
  {
    /** A person has confirmed the elements as faults. Absent: they are accepted. */
    kind: Type.Optional(Type.Literal('fault')),
    ...{ id: Type.String(), reason: Type.String(), owner: Type.String(), expires_at: Type.String() },
    elements: Type.Integer({ minimum: 1 }),
  },
  closed,
);
export type KnownMark = Static<typeof KnownMark>;

/** One root cause over all pages: the same rule on the same component in the same landmark. */
export const RootCause = Type.Object(
  {
    /** The same in every scan with the same `fingerprint_version`. */
    fingerprint: Fingerprint,
    rule: Type.String(),
    impact: Impact,
    wcag: Type.Array(Type.String()),
    help: Type.String(),
    help_url: Type.String(),
    /** The numbers of affected pages and elements. */
    pages: Type.Integer({ minimum: 1 }),
    elements: Type.Integer({ minimum: 1 }),
    example: ReportNode,
    /** Pages on which it occurs, in the scan's order, at most 100. */
    page_urls: Type.Array(Type.String(), { maxItems: 100 }),
    /** How many of the elements the baseline does not have. Only if the scan was compared with one. */
    new_elements: Type.Optional(Count),
    /** How many of the elements are accepted. Only if some are. */
    known_elements: Type.Optional(Type.Integer({ minimum: 1 })),
    /** The known issues and decisions about them: at most 10, most elements first. Only if there are some. */
    known: Type.Optional(Type.Array(KnownMark, { minItems: 1, maxItems: KNOWN_MARKS_MAX })),
    /** The states in which elements were found. Only if there are some. */
    states: Type.Optional(Type.Array(oneOf(STATE_KINDS), { minItems: 1 })),
    /** How many of the elements were found at rest. Only with `states`. */
    at_rest: Type.Optional(Count),
  },
  closed,
);
export type RootCause = Static<typeof RootCause>;

const { fingerprint, rule, impact, wcag, help, help_url } = RootCause.properties;

/** Violations of one root cause that only one of two scans has. */
export const CauseChange = Type.Object(
  {
    ...{ fingerprint, rule, impact, wcag, help, help_url },
    /** The numbers of changed elements, and of the pages that they are on. */
    elements: Count,
    pages: Count,
    /** Whether the other scan has the same root cause on other elements. */
    in_both: Type.Boolean(),
    /** How many of the elements are on pages that the first scan did not test. 0 for what only the first scan has. */
    on_new_pages: Count,
    /** How many of the elements are in states that the first scan did not count there. They do not count as new. Only if some are. */
    on_new_states: Type.Optional(Type.Integer({ minimum: 1 })),
    /** How many of the elements that count as new are known issues. Only if some are. */
    known_elements: Type.Optional(Type.Integer({ minimum: 1 })),
    examples: Type.Array(
      Type.Object(
        { page: Type.String(), selector: Type.String(), frame_path: Type.Array(Type.String()), shadow_path: Type.Array(Type.String()) },
        closed,
      ),
    ),
  },
  closed,
);
export type CauseChange = Static<typeof CauseChange>;
