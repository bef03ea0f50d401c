/** Limits of the egress proxy for one scan. */
export interface EgressLimits {
  /** The largest response over plain HTTP, in bytes. */
  responseBytes: number;
  /** The maximum number of bytes that one tunnel receives. Requests of many pages share a tunnel. */
  tunnelBytes: number;
  /** Concurrent connections from the browser. */
  connections: number;
  /** The idle time after which a connection is closed, in milliseconds. */
  idleMs: number;
  /** The time limit for connecting, in milliseconds. */
  dialMs: number;
  /** The largest headers of a request or response, in bytes. */
  headerBytes: number;
}

export const EGRESS_LIMITS: Readonly<EgressLimits> = {
  responseBytes: 64 * 1024 * 1024,
  tunnelBytes: 512 * 1024 * 1024,
  connections: 256,
  idleMs: 60_000,
  dialMs: 10_000,
  headerBytes: 64 * 1024,
};
