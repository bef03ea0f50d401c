#!/usr/bin/env node
/** `curbcut`. */
import { runProcess } from './process.ts';
import { CHECKOUT_SCANNER } from './local/checkout-scanner.ts';

await runProcess(process.env, CHECKOUT_SCANNER);
