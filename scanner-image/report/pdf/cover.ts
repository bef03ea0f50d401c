/** The first page: what a manager must understand at a glance. */
import type { Report } from '../../../core/report/schema.ts';
import type { Flow } from './flow.ts';
import { linkable, placeOf } from './links.ts';
import { INK, LINE, SOFT, TYPE, VERDICTS, colored } from './palette.ts';
import { CONTENT_WIDTH, PAGE, type Element } from './tagged-document.ts';
import { ring, verdictSign } from './icons.ts';
import { checkedThresholds, drawSeverities, drawThresholds, type Checked } from './summary-tables.ts';
import type { Wording } from './i18n.ts';

/** Draws the first page; `shownInFull` root causes can be jumped to. */
export function drawCover(flow: Flow, report: Report, wording: Wording, shownInFull: number): void {
  const { sheet } = flow;
  const { texts, say } = wording;
  const checked = checkedThresholds(report, wording);
  drawTitle(flow, report, wording);

  const verdict = sheet.element(sheet.root, 'Sect');
  drawVerdict(flow, verdict, report, wording, checked);
  drawFacts(flow, verdict, report, wording);
  const { pages_requested: requested, pages_reserved: reserved } = report.scan.options;
  if (requested > reserved) {
    flow.skip(10);
    flow.paragraph(verdict, say(texts.partial, { n: reserved, m: requested }), TYPE.strong);
  }

  flow.skip(22);
  const severities = sheet.element(sheet.root, 'Sect');
  flow.heading(severities, 2, texts.severityHeading);
  flow.skip(4);
  drawSeverities(flow, severities, report, wording);

  if (checked.length > 0) {
    flow.skip(22);
    const thresholds = sheet.element(sheet.root, 'Sect');
    flow.heading(thresholds, 2, texts.thresholdsHeading);
    flow.skip(4);
    drawThresholds(flow, thresholds, wording, checked);
  }

  const note = sheet.lines(texts.coverNote, TYPE.soft, CONTENT_WIDTH - 24);
  const noteHeight = note.length * TYPE.soft.leading + 12;
  drawFirstToMend(flow, report, wording, shownInFull, noteHeight + 14);
  // The remark stands at the foot of the page, if it has one of its own.
  flow.skip(14);
  flow.y = Math.max(flow.y, Math.min(flow.y + flow.left() - noteHeight, PAGE.height - PAGE.bottom - noteHeight));
  flow.panel(sheet.root, texts.coverNote, TYPE.soft);
}

/** Links to the worst root causes, as many as the page has room for. */
function drawFirstToMend(flow: Flow, report: Report, wording: Wording, shownInFull: number, reserved: number): void {
  const { sheet } = flow;
  const style = { ...TYPE.url, size: 9.5, leading: 14, anywhere: false };
  let room = flow.left() - reserved - 22 - TYPE.h2.leading - 3;
  const links: { text: string; target: { place: string }; contents: string }[] = [];
  for (const [index, group] of report.groups.slice(0, Math.min(5, shownInFull)).entries()) {
    const text = `${group.help} (${wording.count(wording.texts.elements, group.elements)} ${wording.count(wording.texts.onPages, group.pages)})`;
    room -= sheet.lines(text, style, CONTENT_WIDTH - 11, 2).length * style.leading + 1;
    if (room < 0) break;
    links.push({ text, target: { place: placeOf(index) }, contents: text });
  }
  if (links.length === 0) return;
  flow.skip(22);
  const section = sheet.element(sheet.root, 'Sect');
  flow.heading(section, 2, wording.texts.mendFirst, { keep: 0 });
  flow.skip(3);
  flow.links(section, links, style);
}

function drawTitle(flow: Flow, report: Report, wording: Wording): void {
  const { sheet } = flow;
  const { texts, say } = wording;
  const title = sheet.lines(texts.title, TYPE.h1, CONTENT_WIDTH, 2);
  const heading = sheet.element(sheet.root, 'H1');
  sheet.mark(heading, 'H1', () => {
    flow.y = sheet.draw(title, PAGE.left, flow.y - 4, TYPE.h1);
  });
  flow.y += 3;
  const site = sheet.lines(report.scan.url, TYPE.site, CONTENT_WIDTH, 2);
  const paragraph = sheet.element(sheet.root, 'P');
  const url = linkable(report.scan.url);
  if (url !== null) flow.y = sheet.link(paragraph, site, PAGE.left, flow.y, TYPE.site, { url }, report.scan.url);
  else
    sheet.mark(paragraph, 'P', () => {
      flow.y = sheet.draw(site, PAGE.left, flow.y, TYPE.site);
    });
  flow.y += 3;
  const { wcag_version: version, wcag_level: level } = report.scan.options;
  flow.paragraph(
    sheet.root,
    `${say(texts.testedOn, { date: wording.date(report.scan.finished_at) })}  ·  ${say(texts.target, { version, level })}`,
    TYPE.soft,
  );
  flow.y += 13;
}

function drawVerdict(flow: Flow, parent: Element, report: Report, wording: Wording, checked: readonly Checked[]): void {
  const { sheet } = flow;
  const { doc } = sheet;
  const { texts, say, number } = wording;
  const { passed } = report.scan.verdict;
  const colors = passed === null ? VERDICTS.none : passed ? VERDICTS.passed : VERDICTS.missed;
  const [word, alt] =
    passed === null
      ? [texts.noThresholds, texts.noThresholdsAlt]
      : passed
        ? [texts.passed, texts.passedAlt]
        : [texts.notPassed, texts.notPassedAlt];
  const missed = checked.filter(({ met }) => !met).length;
  const detail =
    passed === null
      ? texts.noThresholdsDetail
      : passed
        ? say(texts.thresholdsMet, { n: checked.length, m: checked.length })
        : say(texts.thresholdsMissed, { n: missed, m: checked.length });

  const height = 122;
  const top = flow.y;
  const middle = top + height / 2;
  const gauge = { x: PAGE.left + CONTENT_WIDTH - 74, y: middle, radius: 42, thickness: 9 };
  const textLeft = PAGE.left + 84;
  const textWidth = gauge.x - gauge.radius - 26 - textLeft;
  sheet.artifact(() => {
    doc.roundedRect(PAGE.left, top, CONTENT_WIDTH, height, 6).fill(colors.ground);
    doc.rect(PAGE.left, top + 6, 4, height - 12).fill(colors.strong);
  });
  const sign = sheet.element(parent, 'Figure', {
    alt,
    bbox: [PAGE.left + 24, middle - 23, PAGE.left + 70, middle + 23],
    placement: 'Block',
  });
  sheet.mark(sign, 'Figure', () => verdictSign(doc, passed, PAGE.left + 47, middle, 23, colors.strong));

  const heading = colored({ ...TYPE.h1, size: 23, leading: 29 }, colors.strong);
  const lines = sheet.lines(word, heading, textWidth, 2);
  const explained = sheet.lines(detail, TYPE.body, textWidth, 4);
  let y = middle - (lines.length * heading.leading + 3 + explained.length * TYPE.body.leading) / 2;
  const result = sheet.element(parent, 'H2');
  sheet.mark(result, 'H2', () => {
    y = sheet.draw(lines, textLeft, y, heading) + 3;
  });
  const why = sheet.element(parent, 'P');
  sheet.mark(why, 'P', () => {
    sheet.draw(explained, textLeft, y, TYPE.body);
  });

  const minimum = report.scan.thresholds.min_score;
  const score = report.score.value;
  const figure = sheet.element(parent, 'Figure', {
    alt: minimum === null ? say(texts.scoreAlt, { score }) : say(texts.scoreAltMinimum, { score, minimum }),
    bbox: [gauge.x - 54, middle - 54, gauge.x + 54, middle + 54],
    placement: 'Block',
  });
  sheet.mark(figure, 'Figure', () => {
    doc.circle(gauge.x, gauge.y, gauge.radius + 6).fill('#ffffff');
    ring(doc, gauge, score / 100, { track: LINE, fill: VERDICTS.none.strong, tick: INK }, minimum === null ? null : minimum / 100);
    const big = { ...TYPE.h1, size: 21, leading: 24 };
    const box = { width: 2 * gauge.radius, side: 'center' as const };
    const left = gauge.x - gauge.radius;
    sheet.draw(sheet.lines(texts.score, TYPE.label, box.width), left, middle - 24, colored(TYPE.label, SOFT), box);
    sheet.draw(sheet.lines(number(score), big, box.width), left, middle - 13, big, box);
    sheet.draw(sheet.lines(texts.outOf, TYPE.label, box.width), left, middle + 11, colored(TYPE.label, SOFT), box);
  });
  flow.y = top + height;
}

function drawFacts(flow: Flow, parent: Element, report: Report, wording: Wording): void {
  const { sheet } = flow;
  const { texts, say, number } = wording;
  const facts: [string, string][] = [
    [say(texts.nOfM, { n: report.score.pages_tested, m: report.score.pages_found }), texts.pagesTested],
    [number(report.counts.total), texts.violations],
    [number(report.groups.length), texts.rootCauses],
    [number(report.score.needs_review), texts.needsReview],
  ];
  flow.y += 16;
  const width = CONTENT_WIDTH / facts.length;
  const list = sheet.element(parent, 'L');
  let below = flow.y;
  facts.forEach(([value, label], index) => {
    const x = PAGE.left + index * width + (index === 0 ? 0 : 12);
    const item = sheet.element(list, 'LI');
    const body = sheet.element(item, 'LBody');
    const figure = sheet.element(body, 'P');
    let y = flow.y;
    sheet.mark(figure, 'P', () => {
      y = sheet.draw(sheet.lines(value, TYPE.figure, width - 12, 1), x, y, TYPE.figure);
    });
    const name = sheet.element(body, 'P');
    sheet.mark(name, 'P', () => {
      below = Math.max(below, sheet.draw(sheet.lines(label, TYPE.soft, width - 20, 2), x, y, TYPE.soft));
    });
  });
  sheet.artifact(() => {
    facts.slice(1).forEach((_, index) => {
      const x = PAGE.left + (index + 1) * width;
      sheet.doc
        .lineWidth(0.7)
        .strokeColor(LINE)
        .moveTo(x, flow.y + 2)
        .lineTo(x, flow.y + 34)
        .stroke();
    });
  });
  flow.y = below;
}
