/** Reads what a pod says. It comes from a hostile place: size, schema and scan are checked before anything of it is believed. */
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

const schema = Compile(PodMessage);

/** The last word of a pod. */
export type LastWord = PodStored | PodFailed;

/** A pod's message about this scan; null if it is too large, malformed, or about another scan. */
export function readPodMessage(payload: Uint8Array | string, scanId: string): PodMessage | null {
  const bytes = typeof payload === 'string' ? Buffer.from(payload) : payload;
  if (bytes.byteLength > POD_MESSAGE_MAX_BYTES) return null;
  let message: unknown;
  try {
    message = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    return null;
  }
  return schema.Check(message) && message.scanId === scanId ? message : null;
}

/** The termination message of one pod, if it is a last word about this scan. */
export function terminationMessage(pod: Pod, scanId: string): LastWord | null {
  const text = scannerState(pod).terminated?.message;
  if (text === undefined) return null;
  const message = readPodMessage(text, scanId);
  if (message === null || message.kind === 'progress') return null;
  // A pod that was killed after it gave up for good is tried again all the same; only its exit code makes that final.
  if (message.kind === 'failed' && scannerState(pod).terminated?.exitCode !== EXIT_PERMANENT) return null;
  return message;
}

/** What a scan's pods have said on the bus so far. All of it may be missing. */
export interface PodMessages {
  /** The furthest progress of the attempt that spoke last. */
  progress: PodProgress | null;
  /** When something new was heard last. */
  at: Date | null;
  /** The last words, newest last. */
  words: readonly LastWord[];
}

export const SILENCE: PodMessages = { progress: null, at: null, words: [] };

/** Attempts of one scan whose sequences are remembered; a pod that makes up attempts must not fill the memory. */
const ATTEMPTS_MAX = 16;
/** Last words of one scan that are remembered: attempts that ended one after the other. */
const WORDS_MAX = 4;

/** Remembers what pods say on the bus, for as long as their scans live. */
export interface PodMessageLog {
  /** Takes in a raw message. @returns what became of it: only `news` is worth a look at the scan */
  take(scanId: string, payload: Uint8Array, now: Date): 'news' | 'repeat' | 'refused';
  of(scanId: string): PodMessages;
  forget(scanId: string): void;
}

export function createPodMessageLog(): PodMessageLog {
  const scans = new Map<string, { heard: PodMessages; sequences: Map<string, number> }>();

  function known(scanId: string) {
    const entry = scans.get(scanId) ?? { heard: SILENCE, sequences: new Map<string, number>() };
    scans.set(scanId, entry);
    return entry;
  }

  return {
    take(scanId, payload, now) {
      const message = readPodMessage(payload, scanId);
      if (message === null) return 'refused';
      const entry = known(scanId);
      const { heard, sequences } = entry;
      if (message.kind !== 'progress') {
        const repeated = heard.words.some((word) => word.kind === message.kind && word.attempt === message.attempt);
        if (repeated) return 'repeat';
        entry.heard = { ...heard, at: now, words: [...heard.words, message].slice(-WORDS_MAX) };
        return 'news';
      }
      const last = sequences.get(message.attempt);
      if (last === undefined && sequences.size >= ATTEMPTS_MAX) return 'refused';
      // Messages may be repeated or overtake each other; within an attempt only a higher sequence is newer.
      if (last !== undefined && message.sequence <= last) return 'repeat';
      sequences.set(message.attempt, message.sequence);
      entry.heard = { ...heard, at: now, progress: message };
      return 'news';
    },
    of: (scanId) => scans.get(scanId)?.heard ?? SILENCE,
    forget: (scanId) => void scans.delete(scanId),
  };
}
