/** Runs our scripts in the isolated worlds of documents. */
import type { Cdp } from '../browser/cdp.ts';
import { errorMessage } from '../../../platform/errors.ts';
import { WORLD } from './source.ts';

/** The isolated world of a frame, in which our scripts run, and the CDP session of the process that owns the frame. */
export interface IsolatedWorld {
  cdp: Cdp;
  contextId: number;
}

/** One of our scripts failed, or its document was replaced. */
export class EvaluationFailed extends Error {
  override readonly name = 'EvaluationFailed';
}

/** Evaluates an expression and returns its value; a promise is awaited. @throws EvaluationFailed */
export async function evaluate<T>(world: IsolatedWorld, expression: string): Promise<T> {
  const { result, exceptionDetails } = await world.cdp
    .send('Runtime.evaluate', { expression, contextId: world.contextId, awaitPromise: true, returnByValue: true })
    .catch(evaluationFailed);
  if (exceptionDetails !== undefined)
    throw new EvaluationFailed(exceptionDetails.exception?.description?.split('\n')[0] ?? exceptionDetails.text);
  return result.value as T;
}

/** Fails as `evaluate` does. @throws EvaluationFailed */
export function evaluationFailed(error: unknown): never {
  throw new EvaluationFailed(errorMessage(error));
}

/** Our isolated world of a frame. In the process of the tab it exists since the document was created. */
export async function isolatedWorldOf(cdp: Cdp, frameId: string): Promise<IsolatedWorld> {
  const { executionContextId } = await cdp.send('Page.createIsolatedWorld', { frameId, worldName: WORLD }).catch(evaluationFailed);
  return { cdp, contextId: executionContextId };
}
