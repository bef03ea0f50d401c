/** The stored reports of a scan. */

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
