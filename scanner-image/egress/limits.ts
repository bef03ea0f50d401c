/** How much one scan may take through the egress proxy. */
export interface EgressLimits {
  /** The largest response over plain HTTP, in bytes. */
  responseBytes: number;
  /** The most that one tunnel may carry inwards, in bytes; tunnels are shared by many requests of many pages. */
  tunnelBytes: number;
  /** Connections from the browser at once. */
  connections: number;
  /** Silence after which a connection is closed, in milliseconds. */
  idleMs: number;
  /** How long a dial may take, in milliseconds. */
  dialMs: number;
  /** The largest head of a request or response, in bytes. */
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
