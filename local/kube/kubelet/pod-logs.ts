/** `kubectl logs`: the output of a pod's process, from its file. */
import { createReadStream, existsSync, readFileSync, statSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { badRequest } from '../status.ts';
import type { Pod } from '../types.ts';

const POLL_MS = 200;

/** The last `count` lines of a text. */
function tail(text: string, count: number): string {
  const lines = text.split('\n');
  const ends = lines.at(-1) === '';
  const kept = lines.slice(0, ends ? -1 : undefined).slice(count === 0 ? lines.length : -count);
  return kept.length === 0 ? '' : `${kept.join('\n')}${ends ? '\n' : ''}`;
}

/**
 * Sends a pod's log, and with `follow` also new lines until the pod ends.
 * @param pod returns the current pod; undefined after its deletion
 * @throws StatusError 400 if its container has not started
 */
export function streamLog(
  pod: () => Pod | undefined,
  pathOf: (pod: Pod) => string,
  query: URLSearchParams,
  response: ServerResponse,
): void {
  const first = pod();
  if (first === undefined) return;
  const path = pathOf(first);
  if (!existsSync(path)) {
    const reason = first.status.containerStatuses?.[0]?.state.waiting?.reason ?? 'ContainerCreating';
    throw badRequest(`container "${first.spec.containers[0]?.name}" in pod "${first.metadata.name}" is waiting to start: ${reason}`);
  }
  response.writeHead(200, { 'content-type': 'text/plain' });
  const whole = readFileSync(path, 'utf8');
  const lines = query.get('tailLines');
  response.write(lines === null ? whole : tail(whole, Number(lines)));
  if (query.get('follow') !== 'true') {
    response.end();
    return;
  }
  let sent = Buffer.byteLength(whole);
  const timer = setInterval(() => {
    const { size } = statSync(path, { throwIfNoEntry: false }) ?? { size: sent };
    if (size > sent) {
      createReadStream(path, { start: sent, end: size - 1 }).pipe(response, { end: false });
      sent = size;
      return;
    }
    const phase = pod()?.status.phase;
    if (phase === undefined || phase === 'Succeeded' || phase === 'Failed') response.end();
  }, POLL_MS);
  response.on('close', () => clearInterval(timer));
}
