/** Turns the signals that end a process into one AbortSignal, for a `main.ts`. */
import process from 'node:process';

/**
 * Aborts on the first SIGTERM or SIGINT. A second one ends the process at once, for whoever will not wait for the grace.
 * Call the returned function to leave the signals alone again.
 */
export function stopOnSignal(): { signal: AbortSignal; release: () => void } {
  const stopped = new AbortController();
  const stop = (name: NodeJS.Signals) => {
    if (stopped.signal.aborted) process.exit(130);
    stopped.abort(new Error(`got ${name}`));
  };
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);
  return {
    signal: stopped.signal,
    release() {
      process.off('SIGTERM', stop);
      process.off('SIGINT', stop);
    },
  };
}
