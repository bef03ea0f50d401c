/** The formats for other tools, which are made from the JSON export. A format loses what it has no place for; the export has everything. */
import type { Report } from '../schema.ts';
import { earlOf } from './earl.ts';
import { junitOf } from './junit.ts';
import { sarifOf } from './sarif.ts';

interface Format {
  /** What people call it. */
  title: string;
  contentType: string;
  extension: string;
  text(report: Report): string;
}

const json = (value: unknown): string => `${JSON.stringify(value)}\n`;

/** All formats, by the names of options and parameters. */
export const REPORT_FORMATS = {
  sarif: { title: 'SARIF 2.1.0', contentType: 'application/sarif+json', extension: 'sarif', text: (report) => json(sarifOf(report)) },
  junit: { title: 'JUnit XML', contentType: 'application/xml', extension: 'junit.xml', text: junitOf },
  earl: {
    title: 'EARL 1.0 as JSON-LD',
    contentType: 'application/ld+json',
    extension: 'earl.jsonld',
    text: (report) => json(earlOf(report)),
  },
} as const satisfies Record<string, Format>;

export type ReportFormat = keyof typeof REPORT_FORMATS;
export const REPORT_FORMAT_NAMES = Object.keys(REPORT_FORMATS) as ReportFormat[];
