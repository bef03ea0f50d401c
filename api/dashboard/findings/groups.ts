/** Root causes in groups: by rule, by page, or by template of pages. Pure. */
import { IMPACTS } from '../../../core/scan/impacts.ts';
import { templateOf } from '../../../core/scan/site.ts';
import type { CauseLine, ReportView } from '../../../report/view/schema.ts';

export const CAUSE_GROUPINGS = ['rule', 'page', 'template'] as const;
export type CauseGrouping = (typeof CAUSE_GROUPINGS)[number];

export interface CauseGroup {
  /** The rule, the number of the page in the scan from 1, or the template. */
  key: string;
  /** In the order of the list. */
  lines: readonly CauseLine[];
  /** Of a template: how many of its pages were tested. */
  pages: number;
}

export type GroupedView = Pick<ReportView, 'cause_rules' | 'pages'>;

/** How a list can be grouped: only violations have their pages, and not in views of earlier versions. */
export const groupingsOf = (lines: readonly CauseLine[]): readonly CauseGrouping[] =>
  CAUSE_GROUPINGS.filter((by) => by === 'rule' || lines.some(({ on_pages: numbers = [] }) => numbers.length > 0));

/** The template of each page, as its address suggests, such as `/products/*`; with the host if the pages have several. */
export function templatesOf({ pages }: Pick<ReportView, 'pages'>): string[] {
  const urls = pages.map(({ url }) => URL.parse(url));
  const hosts = new Set(urls.flatMap((url) => url?.host ?? []));
  return urls.map((url, at) => (url === null ? pages[at]!.url : `${hosts.size > 1 ? url.host : ''}${templateOf(url)}`));
}

/** Whether a cause is on pages of a template. @param template empty: every one */
export function templateFilter(view: Pick<ReportView, 'pages'>, template: string): (line: CauseLine) => boolean {
  if (template === '') return () => true;
  const templates = templatesOf(view);
  return ({ on_pages: numbers = [] }) => numbers.some((number) => templates[number - 1] === template);
}

export interface Grouped {
  by: CauseGrouping;
  /** The page and the template that filter the list. */
  page: number | null;
  template: string;
}

/** Groups with the worst severity first, then those with the most causes. A cause is in the group of each page that has it. */
export function groupLines(view: GroupedView, lines: readonly CauseLine[], { by, page, template }: Grouped): CauseGroup[] {
  const templates = by === 'rule' ? [] : templatesOf(view);
  const keysOf = ({ rule, on_pages: numbers = [] }: CauseLine): string[] => {
    if (by === 'rule') return [rule];
    const listed = numbers.filter(
      (number) =>
        number <= templates.length && (page === null || number === page) && (template === '' || templates[number - 1] === template),
    );
    return by === 'page' ? listed.map(String) : [...new Set(listed.map((number) => templates[number - 1]!))];
  };
  const groups = new Map<string, CauseLine[]>();
  for (const line of lines)
    for (const key of keysOf(line)) {
      const group = groups.get(key) ?? [];
      groups.set(key, group);
      group.push(line);
    }
  return [...groups]
    .map(([key, group]) => ({ key, lines: group, pages: templates.filter((one, at) => one === key && view.pages[at]!.tested).length }))
    .sort((a, b) => IMPACTS.indexOf(worstOf(a.lines)) - IMPACTS.indexOf(worstOf(b.lines)) || b.lines.length - a.lines.length);
}

/** The worst severity of causes. */
export const worstOf = (lines: readonly CauseLine[]): CauseLine['impact'] =>
  IMPACTS.find((impact) => lines.some((line) => line.impact === impact)) ?? 'minor';
