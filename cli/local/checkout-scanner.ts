/** The scanner's program of this checkout, which the image of the command line does not have. */
import { join } from 'node:path';
import { SCANNER_PROGRAM } from '../../core/protocol/scanner-program.ts';

export const CHECKOUT_SCANNER = join(import.meta.dirname, '..', '..', SCANNER_PROGRAM[1]);
