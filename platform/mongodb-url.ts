/** The options of a MongoDB connection string that decide whether an acknowledged write can be lost or a read can be old. */

interface Pinned {
  /** In lower case. */
  allowed: readonly string[];
  why: string;
}

const NO_LOSS = 'because a credit or a revoked key that was acknowledged must survive a failover';
const NO_LAG = 'because a secondary may not know yet that a key was revoked or a credit was spent';
const NO_ERRORS = 'because a failover must not fail a request';

/** Options by their names in lower case, because names are not case-sensitive. All others are the administrator's choice. */
const PINNED: Readonly<Record<string, Pinned>> = {
  readpreference: { allowed: ['primary'], why: NO_LAG },
  readpreferencetags: { allowed: [], why: NO_LAG },
  // The driver reads from secondaries if this option is set alone.
  maxstalenessseconds: { allowed: [], why: NO_LAG },
  readconcernlevel: { allowed: ['local', 'majority', 'linearizable'], why: NO_LAG },
  w: { allowed: ['majority'], why: NO_LOSS },
  journal: { allowed: ['true'], why: NO_LOSS },
  j: { allowed: ['true'], why: NO_LOSS },
  // Replaces `journal` in the driver.
  fsync: { allowed: [], why: NO_LOSS },
  retrywrites: { allowed: ['true'], why: NO_ERRORS },
  retryreads: { allowed: ['true'], why: NO_ERRORS },
};

/** The names of the options in a connection string, in lower case. */
export function mongodbUrlOptions(url: string): ReadonlySet<string> {
  return new Set([...queryOf(url).keys()].map((name) => name.toLowerCase()));
}

/**
 * Checks that a connection string asks for no weaker guarantees than the stores need.
 * @returns a sentence for each option that does, without the rest of the string, which contains a password
 */
export function mongodbUrlProblems(url: string): string[] {
  return [...queryOf(url)].flatMap(([name, value]) => {
    const pinned = PINNED[name.toLowerCase()];
    if (pinned === undefined || pinned.allowed.includes(value.toLowerCase())) return [];
    const allowed = pinned.allowed.length === 0 ? 'left out' : pinned.allowed.join(' or ');
    return [`MONGODB_URL sets ${name}=${value}; it must be ${allowed}, ${pinned.why}.`];
  });
}

function queryOf(url: string): URLSearchParams {
  const start = url.indexOf('?');
  return new URLSearchParams(start < 0 ? '' : url.slice(start + 1));
}
