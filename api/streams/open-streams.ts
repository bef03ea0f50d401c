/**
 * The event streams that are open on this replica: how many there may be, and when they must end. A stream belongs to a
 * credential: an API key or a dashboard session. It ends within seconds when its credential ends or its organisation is
 * blocked, and at once when the replica closes.
 */
import type { Logger } from '../../platform/logger.ts';
import { STREAMS_PER_KEY, type STREAM_LIMITS } from '../http/errors.ts';

/** One organisation can have this share of a replica's streams, so that it cannot take the places of all others. */
const ORGANISATION_SHARE = 1 / 4;
/** How long an ended stream may take to send its last bytes, in milliseconds. A client that does not read is disconnected then. */
const ENDING_MS = 1_000;

export type Place =
  /** `signal` aborts when the stream must end. `close` frees the place; it may be called more than once. */
  { ok: true; signal: AbortSignal; close(): void } | { ok: false; reason: StreamLimit };

/** Who opens a stream. */
export interface StreamOwner {
  /** The name of the credential: see `CredentialCheck`. */
  credential: string;
  organisation: string;
}

/** Returns those of the named credentials that may still be used. */
export type CredentialCheck = (credentials: readonly string[]) => Promise<ReadonlySet<string>>;

/** Whose streams have reached their limit. */
export type StreamLimit = (typeof STREAM_LIMITS)[number];

export interface OpenStreamsDeps {
  usable: CredentialCheck;
  /** The maximum number of streams. */
  max: number;
  /** The interval between two checks of all credentials, in milliseconds. */
  checkMs: number;
  logger: Logger;
  /** Called when a stream was opened (+1) or closed (−1). */
  onChange(change: 1 | -1): void;
}

interface Stream extends StreamOwner {
  ending: AbortController;
  disconnect(): void;
  timer?: NodeJS.Timeout;
}

export function createOpenStreams({ usable, max, checkMs, logger, onChange }: OpenStreamsDeps) {
  const streams = new Set<Stream>();
  const perOrganisation = Math.max(STREAMS_PER_KEY, Math.ceil(max * ORGANISATION_SHARE));
  let closing = false;
  let timer: NodeJS.Timeout | undefined;

  function end(stream: Stream): void {
    if (stream.ending.signal.aborted) return;
    stream.ending.abort();
    stream.timer = setTimeout(stream.disconnect, ENDING_MS).unref();
  }

  async function check(): Promise<void> {
    try {
      const checked = new Set(Array.from(streams, ({ credential }) => credential));
      const live = await usable([...checked]);
      for (const stream of streams) if (checked.has(stream.credential) && !live.has(stream.credential)) end(stream);
    } catch (error) {
      // While the database is down the streams send nothing new. The next check repeats it.
      logger.warn({ err: error }, 'credentials of event streams not checked');
    } finally {
      schedule();
    }
  }

  function schedule(): void {
    clearTimeout(timer);
    timer = streams.size === 0 ? undefined : setTimeout(() => void check(), checkMs).unref();
  }

  /** The limit that one more stream would exceed; null if there is room. */
  function limitFor({ credential, organisation }: StreamOwner): StreamLimit | null {
    let ofCredential = 0;
    let ofOrganisation = 0;
    for (const stream of streams) {
      if (stream.credential === credential) ofCredential += 1;
      if (stream.organisation === organisation) ofOrganisation += 1;
    }
    if (ofCredential >= STREAMS_PER_KEY) return 'key';
    if (ofOrganisation >= perOrganisation) return 'organisation';
    return streams.size >= max ? 'replica' : null;
  }

  return {
    /**
     * Takes a place for a stream of a credential and its organisation.
     * @param disconnect closes the connection of the stream
     */
    open(owner: StreamOwner, disconnect: () => void): Place {
      const reason = limitFor(owner);
      if (reason !== null) return { ok: false, reason };
      const stream: Stream = { ...owner, ending: new AbortController(), disconnect };
      streams.add(stream);
      onChange(1);
      if (streams.size === 1) schedule();
      if (closing) end(stream);
      return {
        ok: true,
        signal: stream.ending.signal,
        close() {
          stream.ending.abort();
          clearTimeout(stream.timer);
          if (!streams.delete(stream)) return;
          onChange(-1);
          if (streams.size === 0) schedule();
        },
      };
    },

    /** Ends every stream, and every stream that is opened later. */
    end() {
      closing = true;
      for (const stream of streams) end(stream);
    },
  };
}
