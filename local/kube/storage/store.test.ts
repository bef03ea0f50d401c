import { expect } from 'chai';
import fc from 'fast-check';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { memoryJournal, openJournal, openStore, type Store } from '../store.ts';
import type { KubeObject } from '../types.ts';

const object = (name: string, value = 0): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Thing',
  metadata: { name, namespace: 'n', uid: name, resourceVersion: '', creationTimestamp: '2026-01-01T00:00:00Z' },
  value,
});

/** Puts or removes one of a few objects. */
const step = fc.record({ name: fc.constantFrom('a', 'b', 'c'), remove: fc.boolean(), value: fc.nat(9) });
function apply(store: Store, { name, remove, value }: { name: string; remove: boolean; value: number }): void {
  const found = store.get('/things', 'n', name);
  if (!remove) store.put('/things', object(name, value));
  else if (found !== undefined) store.remove('/things', found);
}

describe('store', () => {
  it('drops the oldest changes and reports it', () => {
    const store = openStore(memoryJournal(), 10);
    for (let value = 0; value < 25; value += 1) store.put('/things', object('a', value));
    expect(store.since(0)).to.equal(null);
    expect(store.since(20)?.map(({ revision }) => revision)).to.deep.equal([21, 22, 23, 24, 25]);
  });

  describe('on disk', () => {
    let folder: string;
    beforeEach(() => {
      folder = mkdtempSync(join(tmpdir(), 'curbcut-store-'));
    });
    afterEach(() => rmSync(folder, { recursive: true, force: true }));

    it('has the same state after it is opened again', () => {
      fc.assert(
        fc.property(fc.array(step, { maxLength: 20 }), (steps) => {
          const store = openStore(openJournal(folder));
          for (const each of steps) apply(store, each);
          store.close();
          const again = openStore(openJournal(folder));
          again.close();
          expect(again.list('/things')).to.deep.equal(store.list('/things'));
          expect(again.revision()).to.equal(store.revision());
        }),
        { numRuns: 30 },
      );
    });

    it('rewrites its file when it is mostly history, and keeps the revision', () => {
      const store = openStore(openJournal(folder));
      store.put('/things', object('kept'));
      for (let value = 0; value < 6000; value += 1) store.put('/things', object('busy', value));
      store.remove('/things', store.get('/things', 'n', 'busy') ?? object('busy'));
      store.close();
      expect(readFileSync(join(folder, 'state.jsonl'), 'utf8').split('\n').length).to.be.lessThan(2000);
      const again = openStore(openJournal(folder));
      again.close();
      expect(again.revision()).to.equal(6002);
      expect(again.list('/things').map(({ metadata }) => metadata.name)).to.deep.equal(['kept']);
    });
  });
});
