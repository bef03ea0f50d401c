/** Makes the other formats from the JSON export. A format loses what it has no place for; the export has everything. */
import type { Report } from '../schema/report.ts';
import { codeQualityOf } from './codequality.ts';
import { causesCsv, elementsCsv, pagesCsv } from './csv.ts';
import { barriersOf, openAcrOf } from './drafts.ts';
import { earlOf } from './earl.ts';
import { htmlReport } from '../html/report.ts';
import { junitOf } from './junit.ts';
import type { ReportFormat } from '../schema/objects.ts';
import { sarifText } from './sarif.ts';

const json = (value: unknown): string => `${JSON.stringify(value)}\n`;

const WRITERS: Readonly<Record<ReportFormat, (report: Report, pictures: Uint8Array | null) => string>> = {
  sarif: sarifText,
  junit: junitOf,
  codequality: (report) => json(codeQualityOf(report)),
  earl: (report) => json(earlOf(report)),
  html: htmlReport,
  csv: elementsCsv,
  csv_causes: causesCsv,
  csv_pages: pagesCsv,
  openacr: openAcrOf,
  barriers: barriersOf,
};

/** Returns a report in another format, as the text of a file. @param pictures the object with those of the report; null: there are none */
export const formatReport = (format: ReportFormat, report: Report, pictures: Uint8Array | null = null): string =>
  WRITERS[format](report, pictures);
