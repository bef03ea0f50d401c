/** The table of docs/kubernetes.md states the conditions of scans and the verdicts of GitOps tools as the code makes them. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { conditionOf } from '../../operator/runtime/conditions.ts';
import { SCAN_STATES, type Kstatus } from '../support/scan-states.ts';

const HEADER = '| state | `Complete` | `Reconciling` | `Stalled` | kstatus | Argo CD |';
/** Argo CD shows an object that is being deleted as Progressing, without its health.lua. */
const ARGO: Readonly<Record<Kstatus, string>> = {
  InProgress: 'Progressing',
  Current: 'Healthy',
  Failed: 'Degraded',
  Terminating: 'Progressing',
};

/** The rows of the table without the name of the state. */
function documented(): string[] {
  const page = readFileSync(join(import.meta.dirname, '..', '..', 'docs', 'kubernetes.md'), 'utf8');
  const [, table = ''] = page.split(HEADER);
  const rows = table.split('\n\n')[0]!.trim().split('\n').slice(1);
  return rows.map((row) =>
    row
      .split('|')
      .slice(2, -1)
      .map((cell) => cell.trim())
      .join(' | '),
  );
}

describe('the conditions of scans', () => {
  const actual = Object.values(SCAN_STATES).map(({ scan, kstatus }) => {
    const conditions = ['Complete', 'Reconciling', 'Stalled'].map((type) => conditionOf(scan.status?.conditions, type)?.status ?? '');
    return [...conditions, kstatus, ARGO[kstatus]].join(' | ');
  });

  it('are in the docs as they are', () => {
    expect(new Set(documented())).to.deep.equal(new Set(actual));
  });
});
