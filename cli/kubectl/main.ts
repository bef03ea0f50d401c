#!/usr/bin/env node
/** `kubectl curbcut`: kubectl runs the program of this name in PATH. */
import { runProcess } from '../process.ts';
import { CHECKOUT_SCANNER } from '../local/checkout-scanner.ts';

await runProcess('kubectl curbcut', process.env, CHECKOUT_SCANNER);
