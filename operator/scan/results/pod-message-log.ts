/** Reads pod messages. They are untrusted: size, schema, scan and attempt are checked. */
import { Compile } from 'typebox/compile';
import {
  EXIT_PERMANENT,
  POD_MESSAGE_MAX_BYTES,
  PodMessage,
  type PodFailed,
  type PodProgress,
  type PodStored,
} from '../../../core/protocol/pod-messages.ts';
import { scannerState, type Pod } from '../kube-types.ts';
import { hadPod, identityOf } from '../policy/pods.ts';

const schema = Compile(PodMessage);

export type FinalMessage = PodStored | PodFailed;

/** Returns a pod's message about this scan, or null if it is too large, malformed, or about another scan. */
export function readPodMessage(payload: Uint8Array | string, scanId: string): PodMessage | null {
  const bytes = typeof payload === 'string' ? Buffer.from(payload) : payload;
  if (bytes.byteLength > POD_MESSAGE_MAX_BYTES) return null;
  let message: unknown;
  try {
    message = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    return null;
  }
  return schema.Check(message) && message.scanId === scanId && message.shard === 0 ? message : null;
}

/** Returns a pod's termination message, or null if it is not the final message of this pod. */
export function terminationMessage(pod: Pod, scanId: string): FinalMessage | null {
  const text = scannerState(pod).terminated?.message;
  if (text === undefined) return null;
  const message = readPodMessage(text, scanId);
  if (message === null || message.kind === 'progress' || message.attempt !== identityOf(pod).attempt) return null;
  // Kubernetes retries a pod that was killed after writing its failure. Only the exit code makes a failure final.
  if (message.kind === 'failed' && scannerState(pod).terminated?.exitCode !== EXIT_PERMANENT) return null;
  return message;
}

/** The messages of a scan's pods. Any message may be missing. */
export interface PodMessages {
  /** The newest progress of the latest attempt that published. */
  progress: PodProgress | null;
  at: Date | null;
  /** The final messages, oldest first. */
  final: readonly FinalMessage[];
}

const NO_MESSAGES: PodMessages = { progress: null, at: null, final: [] };

/** The number of final messages kept, one for each of the latest attempts. */
const FINAL_MAX = 4;

export type PodMessageLog = ReturnType<typeof createPodMessageLog>;

/** Keeps the messages that pods publish on the bus while their scans are live. */
export function createPodMessageLog() {
  const scans = new Map<string, PodMessages>();
  const of = (scanId: string): PodMessages => scans.get(scanId) ?? NO_MESSAGES;

  return {
    /**
     * Processes a raw message.
     * @param pods the known pods of the scan
     * @returns `news` if the scan must be reconciled, `repeat` if it adds nothing, `refused` if it is invalid
     */
    take(scanId: string, payload: Uint8Array, pods: readonly Pod[], now: Date): 'news' | 'repeat' | 'refused' {
      const message = readPodMessage(payload, scanId);
      // A pod can publish for any attempt. Refuse attempts without a pod, so that a forged message cannot replace the real one.
      if (message === null || !hadPod(pods, message.attempt)) return 'refused';
      const before = of(scanId);
      const after = withMessage(before, message, now);
      if (after === before) return 'repeat';
      scans.set(scanId, after);
      return 'news';
    },
    of,
    forget: (scanId: string) => void scans.delete(scanId),
  };
}

/** Returns `before` itself if the message adds nothing. Messages may be repeated or arrive out of order. */
function withMessage(before: PodMessages, message: PodMessage, now: Date): PodMessages {
  if (message.kind !== 'progress') {
    const isKnown = before.final.some(({ kind, attempt }) => kind === message.kind && attempt === message.attempt);
    return isKnown ? before : { ...before, at: now, final: [...before.final, message].slice(-FINAL_MAX) };
  }
  const { progress } = before;
  const isNewer =
    progress === null ||
    message.attempt > progress.attempt ||
    (message.attempt === progress.attempt && message.sequence > progress.sequence);
  return isNewer ? { ...before, at: now, progress: message } : before;
}
