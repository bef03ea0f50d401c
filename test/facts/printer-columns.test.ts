/** What `kubectl get` prints of each kind: whether it works and why not, without `-o wide`. */
import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { parse } from 'yaml';
import { CRDS } from '../../local/stack.ts';

interface Definition {
  spec: { names: { kind: string }; versions: { additionalPrinterColumns: { name: string; jsonPath: string; priority?: number }[] }[] };
}

describe('printed columns', () => {
  for (const path of CRDS) {
    const { spec } = parse(readFileSync(path, 'utf8')) as Definition;
    const columns = spec.versions[0]!.additionalPrinterColumns;

    it(`of ${spec.names.kind} end with READY, REASON and AGE`, () => {
      const shown = columns.filter(({ priority = 0 }) => priority === 0);
      expect(shown.slice(-3).map(({ name }) => name)).to.deep.equal(['Ready', 'Reason', 'Age']);
      expect(columns.at(-1)).to.include({ name: 'Age', jsonPath: '.metadata.creationTimestamp' });
      const [ready, reason] = shown.slice(-3).map(({ jsonPath }) => jsonPath);
      expect(ready).to.match(/^\.status\.conditions\[.*\]\.status$/);
      expect(reason, 'of the same condition').to.equal(ready!.replace(/status$/, 'reason'));
    });
  }
});
