/**
 * Admits a scan in the same write that queues it, if a place is free. The queue's plan opens the gate with the places that
 * it has left. The gate is closed while a plan is made, so that no place is assigned twice.
 */
import { hasPlace, takePlace, type Places } from './places.ts';

export interface AdmissionGate {
  /** Takes a place. @returns false if none is free; the queue then admits the scan later. Call `settled` after the write */
  take(uid: string, organisation: string): boolean;
  /** The admission was written, or the write failed. */
  settled(uid: string): void;
  /** The organisations of scans whose admission is being written, by uid. Closes the gate until `open`. */
  close(): ReadonlyMap<string, string>;
  open(places: Places): void;
}

export function createAdmissionGate(): AdmissionGate {
  const taken = new Map<string, string>();
  let places: Places | null = null;
  return {
    take(uid, organisation) {
      if (places === null || !hasPlace(places, organisation)) return false;
      takePlace(places, organisation, false);
      taken.set(uid, organisation);
      return true;
    },
    settled: (uid) => void taken.delete(uid),
    close() {
      places = null;
      return new Map(taken);
    },
    open: (left) => void (places = left),
  };
}
