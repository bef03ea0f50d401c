/** Writes `faults.json` from the faults that the pages declare: `node demo-site/write-faults.ts`. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { knownFaults } from './site.ts';

writeFileSync(join(import.meta.dirname, 'faults.json'), `${JSON.stringify(knownFaults(), null, 2)}\n`);
