#!/usr/bin/env node
/** `kubectl curbcut`: kubectl runs the program of this name in PATH. */
import { runProcess } from '../process.ts';

await runProcess('kubectl curbcut', process.env);
