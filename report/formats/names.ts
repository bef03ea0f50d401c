/** The formats for other tools, by the names of options and parameters. */
export const REPORT_FORMATS = {
  sarif: { contentType: 'application/sarif+json', extension: 'sarif' },
  junit: { contentType: 'application/xml', extension: 'junit.xml' },
  codequality: { contentType: 'application/json', extension: 'codequality.json' },
  earl: { contentType: 'application/ld+json', extension: 'earl.jsonld' },
} as const;

export type ReportFormat = keyof typeof REPORT_FORMATS;
export const REPORT_FORMAT_NAMES = Object.keys(REPORT_FORMATS) as ReportFormat[];
