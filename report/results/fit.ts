/** Builds a report that fits into the largest export that the operator accepts. */
import { PICTURES_MAX_BYTES } from '../../core/protocol/pod-messages.ts';
import { capPage } from './cap-nodes.ts';
import { isParseable } from '../schema/json-shape.ts';
import { placePictures, type PlacedPictures, type TakenPictures } from './pictures.ts';
import type { Report, ReportPage } from '../schema/schema.ts';

/** The caps that are tried in turn. The pages are within the findings' budget, so the first one is nearly always enough. */
const CAPS = [Infinity, 100, 20, 5, 1];

export interface FittedReport {
  report: Report;
  /** The export: the report as JSON. */
  text: Uint8Array<ArrayBuffer>;
  pictures: PlacedPictures;
}

/**
 * Builds the report. If its export is too large, it describes fewer elements.
 * @param build builds the report of these pages
 * @param maxBytes the largest export
 * @returns null if it is too large although each rule of each page has one element
 */
export function fitReport(
  build: (pages: ReportPage[]) => Report,
  { pages, ...taken }: { pages: ReportPage[] } & TakenPictures,
  maxBytes: number,
): FittedReport | null {
  for (const max of CAPS) {
    const derived = build(pages.map((page) => (page.tested ? capPage(page, max) : page)));
    const placed = placePictures(derived, taken, PICTURES_MAX_BYTES);
    const { places, pagePlaces } = placed;
    const report = { ...derived, pictures: places, ...(pagePlaces.length > 0 && { page_pictures: pagePlaces }) };
    const text = exportOf(report);
    if (text.byteLength <= maxBytes && isParseable(text)) return { report, text, pictures: placed };
  }
  return null;
}

/** Returns the JSON of a report. Its lists are encoded element by element, because one string of everything needs twice the memory. */
export function exportOf(report: Report): Uint8Array<ArrayBuffer> {
  const parts: Buffer[] = [];
  const add = (text: string): unknown => parts.push(Buffer.from(text));
  for (const [at, [name, value]] of Object.entries(report).entries()) {
    add(`${at === 0 ? '{' : ','}${JSON.stringify(name)}:`);
    if (!Array.isArray(value)) {
      add(JSON.stringify(value));
      continue;
    }
    for (const [index, element] of value.entries()) add(`${index === 0 ? '[' : ','}${JSON.stringify(element)}`);
    add(value.length === 0 ? '[]' : ']');
  }
  add('}');
  return Buffer.concat(parts);
}
