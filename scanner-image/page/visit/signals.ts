/** What may change a page after its first look: the scripts that ran on it, what they observe, and who sends to them. */

/** The signals of a page at its first look. */
export interface Signals {
  /** Scripts ran. Nothing else changes a page whose files have arrived. */
  ran: boolean;
  /** Names the scripts and what they observe. Pages of a template with the same key behave alike, as far as one can tell. */
  key: string;
  /** Workers and open connections send whenever they like, so the second look at such a page is never left out. */
  connected: boolean;
}

export const NO_SIGNALS: Signals = { ran: false, key: '', connected: false };
