#!/usr/bin/env node
/** `curbcut`. */
import { runProcess } from './process.ts';

await runProcess('curbcut', process.env);
