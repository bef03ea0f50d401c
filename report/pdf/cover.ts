/** The first page: the result at a glance, for readers who are not developers. */
import { metadataLine } from '../../core/scan/metadata.ts';
import { baselineLine, consentSentence, knownLine, uncompared } from '../view/sentences.ts';
import { LEADING_CAUSES_MAX, leadingCauses } from '../view/leading-causes.ts';
import { fixToPass, type FixToPass } from '../view/fix-to-pass.ts';
import { explainScore, scoreFactsOf, thresholdRows, toPassSentence, verdictTexts, worstOf } from '../view/verdict.ts';
import type { Report } from '../schema/report.ts';
import { type Flow, linkable } from './flow.ts';
import { gapsLine } from '../view/gaps.ts';
import { colored, INK, line, LINE, ring, severityIcon, SOFT, TYPE, verdictIcon, VERDICTS } from './palette.ts';
import { CONTENT_WIDTH, PAGE, type Element } from './tagged-document.ts';
import { drawLeadingCauses, drawSeverities, drawThresholds } from './summary-tables.ts';
import type { ReportWords } from '../words/words.ts';

/** What was drawn of the cover. */
export interface Cover {
  element: Element;
  lastPage: number;
  /** Where the rest of its last page begins. */
  below: number;
}

/** Draws the first page. @param shownInFull how many root causes have a section to link to */
export function drawCover(flow: Flow, report: Report, i18n: ReportWords, shownInFull: number, organisation = ''): Cover {
  const { pdf } = flow;
  const { texts, format } = i18n;
  const rows = thresholdRows(report, i18n);
  const explained = explainScore(scoreFactsOf(report), i18n.locale);
  const { root } = pdf;
  const cover = (pdf.root = pdf.element(root, 'Part'));
  flow.paragraph(cover, organisation, colored(TYPE.strong, SOFT), { maxLines: 2 });
  if (organisation !== '') flow.skip(6);
  drawTitle(flow, report, i18n);

  const verdict = pdf.element(pdf.root, 'Sect');
  const reasons = report.partial ? null : explained.reasons;
  drawVerdict(flow, verdict, report, i18n, { ...verdictTexts(report, i18n, rows), reasons });
  flow.y += 12;
  drawFigures(flow, verdict, factsOf(report, i18n));
  const { pages_requested: requested, pages_reserved: reserved } = report.scan.options;
  if (requested > reserved) {
    flow.skip(6);
    flow.paragraph(verdict, format(texts.partial, { n: reserved, m: requested }), TYPE.strong);
  }

  const { figures, notes } = changeOf(report, i18n);
  if (figures.length > 0) {
    flow.skip(8);
    flow.heading(verdict, 3, texts.change, { keep: 0 });
    drawFigures(flow, verdict, figures);
  }
  for (const line of [...notes, knownLine(report, i18n)]) {
    if (line === '') continue;
    flow.skip(6);
    flow.paragraph(verdict, line, TYPE.strong);
  }
  flow.skip(6);
  flow.paragraph(verdict, [explained.score, explained.surprise].filter(Boolean).join(' '), TYPE.soft);

  const gaps = gapsLine(report, i18n);
  if (gaps !== '') {
    flow.skip(6);
    flow.paragraph(verdict, gaps, TYPE.soft);
  }

  if (report.consent !== undefined) {
    flow.skip(6);
    flow.paragraph(verdict, consentSentence(report.consent, report.scan.options.locale), TYPE.soft);
  }

  const noteHeight = flow.measure((dry) => dry.paragraph(pdf.root, texts.coverNote, TYPE.soft)) + 10;
  const tables = [
    (on: Flow): void => drawSeverities(on, coverSection(on, texts.severityHeading), report, i18n),
    (on: Flow): void => void (rows.length > 0 && drawThresholds(on, coverSection(on, texts.thresholdsHeading), i18n, rows)),
  ];
  const room = (): number => flow.left() - tables.reduce((sum, table) => sum + flow.measure(table), noteHeight);
  const toPass = fixToPass(report);
  if (toPass !== null) drawToPass(flow, report, toPass, i18n, shownInFull);
  if (toPass === null || toPass.causes.length === 0) drawLeading(flow, report, i18n, { shownInFull, room: room() });
  for (const table of tables) {
    flow.need(flow.measure(table));
    table(flow);
  }
  pdf.root = root;
  return { element: cover, lastPage: pdf.pages(), below: flow.y };
}

/** Begins a section with its heading. */
function coverSection(flow: Flow, heading: string, keep?: number): Element {
  flow.skip(8);
  const section = flow.pdf.element(flow.pdf.root, 'Sect');
  flow.heading(section, 2, heading, { keep });
  flow.skip(3);
  return section;
}

/** What to fix to pass, all of it: the tables after it may need another page. */
function drawToPass(flow: Flow, report: Report, toPass: FixToPass, i18n: ReportWords, shownInFull: number): void {
  const section = coverSection(flow, i18n.texts.fixToPass, 60);
  flow.paragraph(section, toPassSentence(toPass, i18n.locale), TYPE.strong);
  flow.skip(4);
  const index = new Map(report.groups.map(({ fingerprint }, at) => [fingerprint, at]));
  const causes = toPass.causes.map(({ fingerprint, elements, pages }) => {
    const at = index.get(fingerprint)!;
    return { cause: { ...report.groups[at]!, elements, pages }, index: at };
  });
  if (causes.length > 0) drawLeadingCauses(flow, section, report, causes, i18n, shownInFull);
}

/** The causes whose fix removes the most violations: as many as fit on the page, and what remains after them. */
function drawLeading(flow: Flow, report: Report, i18n: ReportWords, { shownInFull, room }: { shownInFull: number; room: number }): void {
  const draw = (on: Flow, most: number): void => {
    const leading = leadingCauses(report.groups, most);
    const { removed, percent } = leading;
    const section = coverSection(on, i18n.texts.fixFirst, 0);
    const { total } = report.counts;
    on.paragraph(section, i18n.count(i18n.texts.leadingCauses, leading.causes.length, { percent, removed, total }), TYPE.strong);
    on.skip(4);
    drawLeadingCauses(on, section, report, leading.causes, i18n, shownInFull);
  };
  for (let most = Math.min(LEADING_CAUSES_MAX, report.groups.length); most > 0; most -= 1)
    if (most === 1 || flow.measure((dry) => draw(dry, most)) <= room) return draw(flow, most);
}

function drawTitle(flow: Flow, report: Report, i18n: ReportWords): void {
  const { pdf } = flow;
  const { texts, format } = i18n;
  const title = pdf.lines(texts.title, TYPE.h1, CONTENT_WIDTH, 2);
  pdf.content(pdf.root, 'H1', () => {
    flow.y = pdf.draw(title, PAGE.left, flow.y - 4, TYPE.h1);
  });
  flow.y += 3;
  const site = pdf.lines(report.scan.url, TYPE.site, CONTENT_WIDTH, 2);
  const url = linkable(report.scan.url);
  if (url !== null)
    flow.y = pdf.link(pdf.element(pdf.root, 'P'), site, PAGE.left, flow.y, TYPE.site, { target: { url }, contents: report.scan.url });
  else
    pdf.content(pdf.root, 'P', () => {
      flow.y = pdf.draw(site, PAGE.left, flow.y, TYPE.site);
    });
  flow.y += 3;
  const { wcag_version: version, wcag_level: level } = report.scan.options;
  flow.paragraph(
    pdf.root,
    `${format(texts.testedOn, { date: i18n.date(report.scan.finished_at) })}  ·  ${format(texts.target, { version, level })}`,
    TYPE.soft,
  );
  flow.paragraph(pdf.root, metadataLine(report.scan.metadata), { ...TYPE.soft, breakAnywhere: true }, { maxLines: 2 });
  flow.y += 13;
}

/** The height of the verdict's panel, if its text does not need more. */
const VERDICT_HEIGHT = 102;
/** Above and below the text of the panel. */
const VERDICT_PADDING = 12;
/** Enough for every threshold in every language. */
const REASON_LINES_MAX = 12;
const GAUGE_RADIUS = 38;

/** Draws the verdict beside the score. @param said what the panel says: the reasons, or else the detail */
function drawVerdict(
  flow: Flow,
  parent: Element,
  report: Report,
  i18n: ReportWords,
  said: ReturnType<typeof verdictTexts> & { reasons: string | null },
): void {
  const { pdf } = flow;
  const { doc } = pdf;
  const { passed } = report.scan.verdict;
  const colors = passed === null ? VERDICTS.none : passed ? VERDICTS.passed : VERDICTS.missed;
  const { word, alt, detail, reasons } = said;

  const gaugeX = PAGE.left + CONTENT_WIDTH - 74;
  const textLeft = PAGE.left + 84;
  const textWidth = gaugeX - GAUGE_RADIUS - 26 - textLeft;
  const heading = colored({ ...TYPE.h1, size: 23, leading: 29 }, colors.strong);
  const lines = pdf.lines(word, heading, textWidth, 2);
  const explanation = pdf.lines(reasons ?? detail, TYPE.body, textWidth, REASON_LINES_MAX);
  const textHeight = lines.length * heading.leading + 3 + explanation.length * TYPE.body.leading;
  const height = Math.max(VERDICT_HEIGHT, textHeight + 2 * VERDICT_PADDING);
  const top = flow.y;
  const middle = top + height / 2;
  pdf.artifact(() => {
    doc.roundedRect(PAGE.left, top, CONTENT_WIDTH, height, 6).fill(colors.ground);
    doc.rect(PAGE.left, top + 6, 4, height - 12).fill(colors.strong);
  });
  const icon = (): void => {
    const worst = passed === null && !report.partial ? worstOf(report.counts) : null;
    if (worst === null) verdictIcon(doc, passed ?? (report.partial ? null : true), PAGE.left + 47, middle, 23, colors.strong);
    else severityIcon(doc, worst, PAGE.left + 47, middle, 22);
  };
  pdf.content(parent, 'Figure', icon, {
    alt,
    bbox: [PAGE.left + 24, middle - 23, PAGE.left + 70, middle + 23],
    placement: 'Block',
  });
  let y = middle - textHeight / 2;
  pdf.content(parent, 'H2', () => {
    y = pdf.draw(lines, textLeft, y, heading) + 3;
  });
  pdf.content(parent, 'P', () => void pdf.draw(explanation, textLeft, y, TYPE.body));
  drawGauge(flow, parent, report, i18n, { x: gaugeX, y: middle, radius: GAUGE_RADIUS, thickness: 9 });
  flow.y = top + height;
}

/** Draws the score as a ring, with a tick at the minimum. */
function drawGauge(flow: Flow, parent: Element, report: Report, i18n: ReportWords, gauge: Parameters<typeof ring>[1]): void {
  const { pdf } = flow;
  const { texts, format, number } = i18n;
  const minimum = report.scan.thresholds.min_score;
  const score = report.score.value;
  const { x, y, radius } = gauge;
  const draw = (): void => {
    pdf.doc.circle(x, y, radius + 6).fill('#ffffff');
    ring(pdf.doc, gauge, score / 100, { track: LINE, fill: VERDICTS.none.strong, tick: INK }, minimum === null ? null : minimum / 100);
    const big = { ...TYPE.h1, size: 21, leading: 24 };
    const box = { width: 2 * radius, side: 'center' as const };
    const left = x - radius;
    pdf.draw(pdf.lines(texts.score, TYPE.label, box.width), left, y - 24, colored(TYPE.label, SOFT), box);
    pdf.draw(pdf.lines(number(score), big, box.width), left, y - 13, big, box);
    pdf.draw(pdf.lines(texts.outOf, TYPE.label, box.width), left, y + 11, colored(TYPE.label, SOFT), box);
  };
  pdf.content(parent, 'Figure', draw, {
    alt: minimum === null ? format(texts.scoreAlt, { score }) : format(texts.scoreAltMinimum, { score, minimum }),
    bbox: [x - 50, y - 50, x + 50, y + 50],
    placement: 'Block',
  });
}

/** A number, and what it counts. */
type Figure = [value: string, label: string];

const factsOf = ({ score, counts, groups }: Report, { texts, format, number }: ReportWords): Figure[] => [
  [format(texts.nOfM, { n: score.pages_tested, m: score.pages_attempted }), texts.pagesTested],
  [number(counts.total), texts.violations],
  [number(groups.length), texts.rootCauses],
  [number(score.needs_review), texts.needsReview],
];

/** The change since the baseline, and what its numbers leave out. */
function changeOf({ baseline }: Report, i18n: ReportWords): { figures: Figure[]; notes: string[] } {
  if (baseline === undefined || baseline.new === null) return { figures: [], notes: [baselineLine({ baseline }, i18n)] };
  const { texts, number } = i18n;
  const kinds = { new: texts.changeNew, fixed: texts.changeFixed, unchanged: texts.changeNone };
  const figures = Object.entries(kinds).map(([kind, label]): Figure => [number(baseline[kind as keyof typeof kinds] ?? 0), label]);
  return { figures, notes: uncompared(baseline, i18n) };
}

function drawFigures(flow: Flow, parent: Element, figures: readonly Figure[]): void {
  const { pdf } = flow;
  const width = CONTENT_WIDTH / 4;
  const list = pdf.element(parent, 'L');
  let below = flow.y;
  figures.forEach(([value, label], index) => {
    const x = PAGE.left + index * width + (index === 0 ? 0 : 12);
    const body = pdf.element(pdf.element(list, 'LI'), 'LBody');
    let y = flow.y;
    pdf.content(body, 'P', () => {
      y = pdf.draw(pdf.lines(value, TYPE.figure, width - 12, 1), x, y, TYPE.figure);
    });
    pdf.content(body, 'P', () => {
      below = Math.max(below, pdf.draw(pdf.lines(label, TYPE.soft, width - 20, 2), x, y, TYPE.soft));
    });
  });
  pdf.artifact(() => {
    figures.slice(1).forEach((_, index) => {
      const x = PAGE.left + (index + 1) * width;
      line(pdf.doc, [x, flow.y + 2], [x, flow.y + 34], 0.7);
    });
  });
  flow.y = below;
}
