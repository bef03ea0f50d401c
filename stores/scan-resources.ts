/** AccessibilityScan resources as the front door needs them: written, never read for a GET. */
import type { ScanRow } from './scans.ts';

export interface ScanResources {
  /**
   * Writes the custom resource of a row. The name is derived from the scan id, so a repeat finds the first one's work.
   * @throws when the Kubernetes API refuses or cannot be reached; it is then unknown whether the resource exists
   */
  submit(row: ScanRow): Promise<void>;
  /** True if the resource exists. @throws when the Kubernetes API cannot be reached */
  exists(row: Pick<ScanRow, 'resource'>): Promise<boolean>;
  /** Answers if the Kubernetes API can be reached and knows our resources. @throws if not */
  ping(): Promise<void>;
}
