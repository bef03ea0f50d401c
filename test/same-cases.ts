/**
 * Loaded before all tests: the generated cases of a commit are the same ones in each run, so that a commit fails because of what it
 * changed. `NIGHTLY=1` tries other ones each time; a case that fails there says its seed and becomes a test of its own.
 */
import fc from 'fast-check';
import { NIGHTLY } from './support/nightly.ts';

if (!NIGHTLY) fc.configureGlobal({ seed: 1 });
