/** Reads stored views. Another version of the operator may have written them. */
import { Compile } from 'typebox/compile';
import { ReportView } from '../report/view/view.ts';

const schema = Compile(ReportView);

/** Returns null if the bytes are not a view of a known version. */
export function parseView(bytes: Uint8Array): ReportView | null {
  try {
    const view: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
    return schema.Check(view) ? view : null;
  } catch {
    // Not JSON. The pages then say that there is no view.
    return null;
  }
}
