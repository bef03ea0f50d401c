/** The query of the list of root causes: filters and place. It is kept in the address, so that a view can be shared. Pure. */
import { IMPACTS, type Impact } from '../../../core/scan/impacts.ts';
import { scanPath } from '../../../core/web-paths.ts';
import { addressOf } from '../../web/address.ts';

export const CAUSE_LISTS = ['violations', 'review', 'advice'] as const;
export type CauseList = (typeof CAUSE_LISTS)[number];

/** `new`: the baseline does not have all elements. `known`: some elements are known issues. `open`: some are not. */
export const CAUSE_STATES = ['new', 'known', 'open'] as const;
export type CauseState = (typeof CAUSE_STATES)[number];

export interface CauseQuery {
  list: CauseList;
  state: CauseState | null;
  severity: Impact | null;
  /** A success criterion of WCAG, such as `1.4.3`. Empty: every one. */
  criterion: string;
  /** Empty: every rule. */
  rule: string;
  /** The number of a page in the scan, from 1. Null: every page. */
  page: number | null;
  /** The fingerprint of the only cause. Empty: every one. */
  cause: string;
  /** The part of the list, from 1. */
  part: number;
  /** Causes in a part: few, so that the page is short, or more. */
  size: number;
}

/** With the first, a page is at most 4,000 px high, at 320 px of width too. */
export const CAUSE_SIZES = [5, 25] as const;

export const ALL_CAUSES: CauseQuery = {
  list: 'violations',
  state: null,
  severity: null,
  criterion: '',
  rule: '',
  page: null,
  cause: '',
  part: 1,
  size: CAUSE_SIZES[0],
};

const TEXT_MAX = 200;
const NUMBER_MAX = 100_000;

/** Reads the query of an address. Values that no form sends are ignored, so that an edited address still shows the list. */
export function readCauseQuery(params: Readonly<Record<string, unknown>>): CauseQuery {
  const text = (name: string): string => (typeof params[name] === 'string' ? params[name].trim().slice(0, TEXT_MAX) : '');
  const one = <T extends string>(name: string, values: readonly T[]): T | null => values.find((value) => value === params[name]) ?? null;
  const number = (name: string): number | null => (/^[1-9]\d{0,5}$/.test(text(name)) ? Math.min(Number(text(name)), NUMBER_MAX) : null);
  return {
    list: one('list', CAUSE_LISTS) ?? 'violations',
    state: one('state', CAUSE_STATES),
    severity: one('severity', IMPACTS),
    criterion: text('criterion'),
    rule: text('rule'),
    page: number('page'),
    cause: text('cause'),
    part: number('part') ?? 1,
    size: CAUSE_SIZES.find((size) => size === number('size')) ?? CAUSE_SIZES[0],
  };
}

/** The address of a list of root causes of a scan. */
export function causesHref(scanId: string, query: Partial<CauseQuery>): string {
  const changed = Object.entries(query).filter(([name, value]) => value !== ALL_CAUSES[name as keyof CauseQuery]);
  return `${addressOf(scanPath(scanId), Object.fromEntries(changed))}#causes`;
}

/** The number of filters that are set. */
export const activeCauseFilters = ({ state, severity, criterion, rule, page, cause }: CauseQuery): number =>
  [state, severity, criterion, rule, page, cause].filter((one) => one !== '' && one !== null).length;
