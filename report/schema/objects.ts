/** The stored reports of a scan: their keys in the object store, and how they are read. */

/** The formats that are made from the export, by the names of options and parameters. */
export const REPORT_FORMATS = {
  sarif: { contentType: 'application/sarif+json', extension: 'sarif' },
  junit: { contentType: 'application/xml', extension: 'junit.xml' },
  codequality: { contentType: 'application/json', extension: 'codequality.json' },
  earl: { contentType: 'application/ld+json', extension: 'earl.jsonld' },
  html: { contentType: 'text/html; charset=utf-8', extension: 'html' },
  csv: { contentType: 'text/csv; charset=utf-8', extension: 'csv' },
  csv_causes: { contentType: 'text/csv; charset=utf-8', extension: 'causes.csv' },
  csv_pages: { contentType: 'text/csv; charset=utf-8', extension: 'pages.csv' },
  openacr: { contentType: 'application/yaml', extension: 'openacr.yaml' },
  barriers: { contentType: 'text/markdown; charset=utf-8', extension: 'barriers.md' },
} as const;

/** The formats that are tables for spreadsheets, by what has a line in them. */
export const CSV_TABLES = { elements: 'csv', causes: 'csv_causes', pages: 'csv_pages' } as const satisfies Record<
  string,
  keyof typeof REPORT_FORMATS
>;
export type CsvTable = keyof typeof CSV_TABLES;

export type ReportFormat = keyof typeof REPORT_FORMATS;

/** Whether a format shows the pictures of a report. */
export const hasPictures = (format: ReportFormat): boolean => format === 'html';
export const REPORT_FORMAT_NAMES = Object.keys(REPORT_FORMATS) as ReportFormat[];

export interface ReportObject {
  key: string;
  bytes: number;
  /** Lower-case hexadecimal. */
  sha256: string;
}

export interface ReportObjects {
  export: ReportObject;
  pdf: ReportObject;
}

/** The pictures of elements, one after the other. The export has their places. */
export const PICTURES_NAME = 'pictures';

/** The keys of a scan's reports. Not every scan has pictures. */
export interface ReportKeys {
  export: string;
  pdf: string;
  pictures: string;
}

/**
 * The final keys of a scan's reports, of their view (what pages and mails show) with its findings, and of the formats that are made from the export on
 * request. Only the operator writes the reports and the view, after verification.
 */
export function reportKeys(scanId: string): ReportKeys & Record<'view' | 'findings' | ReportFormat, string> {
  const folder = `scans/${scanId}/`;
  const formats = REPORT_FORMAT_NAMES.map((format) => [format, `${folder}report.${REPORT_FORMATS[format].extension}`]);
  const made = { view: `${folder}view.json`, findings: `${folder}findings` };
  return { ...keysIn(folder), ...made, ...(Object.fromEntries(formats) as Record<ReportFormat, string>) };
}

/** The keys of reports in a folder of the object store. */
export const keysIn = (folder: string): ReportKeys => ({
  export: `${folder}report.json`,
  pdf: `${folder}report.pdf`,
  pictures: folder + PICTURES_NAME,
});

export type ReadResult = { ok: true; bytes: Uint8Array; etag: string } | { ok: false; reason: 'missing' | 'too_large' };

/** The object store for readers of reports. */
export interface ReportReader {
  /** Returns the size of an object in bytes, or null if it does not exist. */
  size(key: string): Promise<number | null>;
  /** Reads a whole object of at most `maxBytes`. */
  read(key: string, maxBytes: number, signal?: AbortSignal): Promise<ReadResult>;
}
