/** Tests that try many cases try a few of them for a commit, and all of them with `NIGHTLY=1`. */
export const NIGHTLY = process.env.NIGHTLY === '1';

/** @returns what a commit tries, or with `NIGHTLY=1` what the night tries */
export const nightly = <T>(commit: T, night: T): T => (NIGHTLY ? night : commit);
