#!/usr/bin/env node
/** `curbcut`, with the scanner of this checkout, which the image of the command line does not have. */
import { join } from 'node:path';
import { SCANNER_PROGRAM } from '../core/protocol/scanner-program.ts';
import { runProcess } from './process.ts';

await runProcess(process.env, join(import.meta.dirname, '..', SCANNER_PROGRAM[1]));
