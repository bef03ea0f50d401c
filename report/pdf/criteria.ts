/** The table of success criteria: what the rules of each one say. */
import { criterionState } from '../results/rule-outcomes.ts';
import type { Report } from '../schema/report.ts';
import type { ReportWords } from '../words/words.ts';
import type { Flow } from './flow.ts';
import { colored, SOFT, TYPE } from './palette.ts';
import { drawTableSection, type Cell } from './table.ts';
import { CONTENT_WIDTH } from './tagged-document.ts';

/** The widths of the columns after the first, in points. */
const WIDTHS = [44, 150, 66] as const;

export function drawCriteria(flow: Flow, { criteria }: Report, { texts, number }: ReportWords, outline: PDFKit.PDFOutline): void {
  const { heading, intro, criterion, level, states, pages } = texts.byCriterion;
  const columns = [
    { heading: criterion, width: CONTENT_WIDTH + 8 - WIDTHS[0] - WIDTHS[1] - WIDTHS[2] },
    { heading: level, width: WIDTHS[0] },
    { heading: texts.result, width: WIDTHS[1] },
    { heading: pages, width: WIDTHS[2], side: 'right' as const },
  ];
  const rows = criteria.map((one): Cell[] => {
    const state = criterionState(one);
    const style = state === 'failed' ? TYPE.cellStrong : state === 'untested' ? colored(TYPE.cell, SOFT) : TYPE.cell;
    const failed = one.pages.failed === 0 ? '' : number(one.pages.failed);
    return [{ text: `${one.id} ${one.name}`, rowHeader: true }, { text: one.level }, { text: states[state], style }, { text: failed }];
  });
  drawTableSection(flow, { heading, intro, padding: 3, columns, rows, leftOut: '' }, outline);
}
