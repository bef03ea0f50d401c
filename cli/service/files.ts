/** The files that a command saves reports to. Loads neither HTTP client nor schemas. */

/** The reports by the names of their options: the two of the service, and those that the command makes from the JSON export. */
const REPORTS = ['pdf', 'export', 'sarif', 'junit', 'codequality', 'earl'] as const;
export type ReportName = (typeof REPORTS)[number];

/** Files by report. A report without a file is not saved. */
export type Files = Partial<Record<ReportName, string>>;

/** Picks the files from parsed arguments. */
export const givenFiles = (values: Files): Files =>
  Object.fromEntries(REPORTS.flatMap((name) => (values[name] === undefined ? [] : [[name, values[name]]])));
