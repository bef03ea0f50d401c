/** Tracks since when the message bus has been connected: silence of a pod proves nothing while messages cannot arrive. */
import type { Bus } from '../../stores/nats.ts';

export interface BusUptime {
  /** Starts to check the connection. @returns how to end it */
  start(): () => void;
  /** Since when the bus has been connected without interruption; null while it is disconnected. */
  since(): Date | null;
}

/** An interruption shorter than this costs at most one message. */
const CHECK_EVERY_MS = 1_000;

export function createBusUptime(bus: Pick<Bus, 'connected'>, now: () => Date): BusUptime {
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
