/** Report objects on S3-compatible storage: presigned links in and out, and the operator's own look at what a pod stored. */

export const EXPORT_NAME = 'report.json';
export const PDF_NAME = 'report.pdf';

/** The keys of a scan's two objects. One pair for each scan: attempts overwrite each other, digests tell which is meant. */
export function reportKeys(scanId: string): { export: string; pdf: string } {
  return { export: `scans/${scanId}/${EXPORT_NAME}`, pdf: `scans/${scanId}/${PDF_NAME}` };
}

export interface Reports {
  /** A URL that takes exactly one object by PUT with the given content type, until `expiresInSeconds` from now. */
  uploadLink(key: string, contentType: string, expiresInSeconds: number): Promise<string>;
  /** A URL that gives the object by GET, and names the file for whoever saves it. */
  downloadLink(key: string, fileName: string, expiresInSeconds: number): Promise<string>;
  /** Size of an object in bytes, or null if there is none. */
  size(key: string): Promise<number | null>;
  /** Reads an object whole. @throws RangeError if it is larger than `maxBytes` */
  read(key: string, maxBytes: number): Promise<Uint8Array>;
  /** Removes a scan's objects. Idempotent. */
  remove(keys: readonly string[]): Promise<void>;
  /** Answers if the bucket can be reached. @throws if not */
  ping(): Promise<void>;
}
