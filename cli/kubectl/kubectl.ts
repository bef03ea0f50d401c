/** Runs kubectl: the user's own kubeconfig, context and credential plug-ins. Temporary failures are retried within --max-wait. */
import { spawn, type ChildProcess } from 'node:child_process';
import { backOff as waitBeforeRetry, createWatchdog, type Waiting } from '../service/budget.ts';
import { CliError, errorMessage } from '../errors.ts';
import { KubectlError, kubectlErrorOf } from './errors.ts';
import { readObjects } from './json-stream.ts';

export interface KubectlOptions extends Waiting {
  /** kubectl's own options, for every call. */
  flags: readonly string[];
  environment: Record<string, string | undefined>;
  monotonic: () => number;
}

/** An event of `kubectl get --watch --output-watch-events`. */
export interface WatchEvent<T> {
  type: string;
  object: T;
}

export interface Kubectl {
  readonly options: KubectlOptions;
  /**
   * Runs a command with `-o json`, and again if it failed for a time. The command must be idempotent.
   * @param input for standard input
   * @throws KubectlError @throws ServiceUnavailable if the budget is used up
   */
  json<T>(args: readonly string[], input?: string): Promise<T>;
  /**
   * Watches one object: first its present state, then each change. Ends if the server ends the watch, and after a time
   * without a change.
   * @param idleMs that time, asked after each event
   * @throws KubectlError, also if there is not even the present state
   */
  watch<T>(resource: string, name: string, idleMs?: () => number): AsyncGenerator<WatchEvent<T>>;
  /** Waits after a temporary failure, longer each time. @throws ServiceUnavailable if the budget is used up */
  backOff(failure: KubectlError, attempts: number): Promise<void>;
}

/** A command that does not answer is ended after this time. A credential plug-in may ask its user in a browser. */
const COMMAND_TIMEOUT_MS = 120_000;
/** The usual time: a watch that is silent for it ends, to be started again: a connection may be dead without a sign. */
export const IDLE_MS = 60_000;
/** A watch starts with the present state. One that does not within this time is broken. */
const FIRST_EVENT_MS = 30_000;
/** kubectl gives up a request after this time, so that a retry still fits into the budget. */
const REQUEST_TIMEOUT = '--request-timeout=30s';

/** Runs nothing until the first call. */
export function createKubectl(options: KubectlOptions): Kubectl {
  const { budget, signal } = options;
  const backOff: Kubectl['backOff'] = ({ message }, attempts) => waitBeforeRetry(options, { why: message.split('\n', 1)[0]!, attempts });

  return {
    options,
    async json<T>(args: readonly string[], input?: string): Promise<T> {
      for (let attempts = 1; ; attempts += 1) {
        budget.start();
        try {
          const limited = options.flags.some((flag) => flag.startsWith('--request-timeout')) ? args : [...args, REQUEST_TIMEOUT];
          const answer = (await once(options, limited, input)) as T;
          budget.served();
          return answer;
        } catch (error) {
          if (!(error instanceof KubectlError) || !error.temporary) throw error;
          await backOff(error, attempts);
        }
      }
    },
    async *watch<T>(resource: string, name: string, idleMs = () => IDLE_MS): AsyncGenerator<WatchEvent<T>> {
      const child = start(options, ['get', resource, name, '--watch', '--output-watch-events', '-o', 'json'], 'inherit');
      const ended = endOf(child);
      // A failure is thrown after the events that came before it.
      const failure = ended.then(() => null, (error: unknown) => error); // prettier-ignore
      const watchdog = createWatchdog(FIRST_EVENT_MS);
      let stopped = false;
      const stop = (): void => {
        stopped = true;
        end(child);
      };
      let events = 0;
      const aborted = AbortSignal.any([watchdog.signal, signal]);
      aborted.addEventListener('abort', stop);
      try {
        for await (const event of readObjects(child.stdout!)) {
          events += 1;
          yield event as WatchEvent<T>;
          watchdog.touch(idleMs());
        }
        const error = await failure;
        signal.throwIfAborted();
        if (error !== null && !stopped) throw error;
        if (events === 0) throw noResponse();
      } finally {
        // A signal with a listener is kept as long as its sources.
        aborted.removeEventListener('abort', stop);
        stop();
        watchdog.stop();
      }
    },
    backOff,
  };
}

function start({ flags, environment, signal }: KubectlOptions, args: readonly string[], stdin: 'pipe' | 'inherit'): ChildProcess {
  signal.throwIfAborted();
  return spawn('kubectl', [...flags, ...args], { env: environment, stdio: [stdin, 'pipe', 'pipe'] });
}

/** Runs a command once. @returns what it prints, which is JSON */
async function once(options: KubectlOptions, args: readonly string[], input: string | undefined): Promise<unknown> {
  const { budget, signal } = options;
  const child = start(options, [...args, '-o', 'json'], input === undefined ? 'inherit' : 'pipe');
  const ended = endOf(child);
  const watchdog = createWatchdog(budget.limit(COMMAND_TIMEOUT_MS));
  const stop = (): void => end(child);
  const aborted = AbortSignal.any([watchdog.signal, signal]);
  aborted.addEventListener('abort', stop);
  try {
    // kubectl may end before it has read its input; its exit code says why.
    child.stdin?.on('error', () => {}).end(input);
    let text = '';
    child.stdout!.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
    await ended;
    return parsed(text);
  } catch (error) {
    signal.throwIfAborted();
    if (watchdog.signal.aborted) throw noResponse();
    throw error;
  } finally {
    aborted.removeEventListener('abort', stop);
    watchdog.stop();
  }
}

const noResponse = (): KubectlError => new KubectlError({ reason: null, temporary: true, lines: ['kubectl: no response in time'] });

/** Ends kubectl. A credential plug-in that it has started keeps its standard error open, so that is not waited for. */
function end(child: ChildProcess): void {
  child.kill();
  child.stderr?.destroy();
}

/** Resolves when the process has ended well. Call it at once: the process may end at any time. @throws CliError @throws KubectlError */
function endOf(child: ChildProcess): Promise<void> {
  const ended = new Promise<void>((resolve, reject) => {
    let stderr = '';
    child.stderr!.setEncoding('utf8').on('data', (chunk: string) => (stderr += chunk));
    child.once('error', (error: NodeJS.ErrnoException) => {
      const missing = ['There is no kubectl in PATH.', 'Install it: https://kubernetes.io/docs/tasks/tools/'];
      reject(error.code === 'ENOENT' ? new CliError(...missing) : new CliError(`kubectl cannot be started: ${errorMessage(error)}`));
    });
    child.once('close', (code) => (code === 0 ? resolve() : reject(kubectlErrorOf(stderr, code))));
  });
  // The caller may be busy with the output when the process fails.
  ended.catch(() => {});
  return ended;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new CliError('kubectl printed something else than JSON.', 'Check that `kubectl` in PATH is the command of Kubernetes.');
  }
}
