/** Makes the formats for other tools from the JSON export. A format loses what it has no place for; the export has everything. */
import type { Report } from '../schema/report.ts';
import { codeQualityOf } from './codequality.ts';
import { causesCsv, elementsCsv, pagesCsv } from './csv.ts';
import { earlOf } from './earl.ts';
import { junitOf } from './junit.ts';
import type { ReportFormat } from '../schema/objects.ts';
import { sarifText } from './sarif.ts';

const json = (value: unknown): string => `${JSON.stringify(value)}\n`;

const WRITERS: Readonly<Record<ReportFormat, (report: Report) => string>> = {
  sarif: sarifText,
  junit: junitOf,
  codequality: (report) => json(codeQualityOf(report)),
  earl: (report) => json(earlOf(report)),
  csv: elementsCsv,
  csv_causes: causesCsv,
  csv_pages: pagesCsv,
};

/** Returns a report in another format, as the text of a file. */
export const formatReport = (format: ReportFormat, report: Report): string => WRITERS[format](report);
