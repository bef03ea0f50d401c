/** Tracks how long the message bus has been connected, because a pod is not stuck while its messages cannot arrive. */
import type { MessageBus } from '../../stores/nats.ts';

export interface BusUptime {
  /** Starts to check the connection. @returns a function that stops it */
  start(): () => void;
  /** The start of the current connection; null while disconnected. */
  since(): Date | null;
}

/** A shorter interruption loses at most one message. */
const CHECK_EVERY_MS = 1_000;

export function createBusUptime(bus: Pick<MessageBus, 'connected'>, now: () => Date): BusUptime {
  let connectedSince: Date | null = null;
  const check = () => {
    connectedSince = bus.connected ? (connectedSince ?? now()) : null;
  };
  return {
    start() {
      const timer = setInterval(check, CHECK_EVERY_MS);
      timer.unref();
      return () => clearInterval(timer);
    },
    since() {
      check();
      return connectedSince;
    },
  };
}
