import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { FOLDER_MIN, lookAround, MEMORY_MIN, missingIn } from './container.ts';

describe('what a container needs', () => {
  const enough = { memoryBytes: MEMORY_MIN, folders: { '/data': FOLDER_MIN, '/tmp': FOLDER_MIN } };

  it('is memory and two folders', () => expect(missingIn(enough)).to.deep.equal([]));

  it('is named in one sentence each', () => {
    expect(missingIn({ memoryBytes: 512_000_000, folders: { '/data': null, '/tmp': 64_000_000 } })).to.deep.equal([
      'The container may use 512 MB of memory; Curbcut with a browser needs 1500 MB (docker run --memory 2g).',
      'The container cannot write to /data; with a read-only root, mount a tmpfs there (docker run --tmpfs /data:mode=1777).',
      '/tmp has 64 MB of free space; Curbcut needs 200 MB there.',
    ]);
  });

  it('is found on this machine', () => {
    const folder = mkdtempSync(join(tmpdir(), 'curbcut-place-'));
    try {
      const { memoryBytes, folders } = lookAround([folder, join(folder, 'missing')]);
      expect(memoryBytes).to.be.within(1e8, 1e14);
      expect(folders[folder]).to.be.greaterThan(0);
      expect(folders[join(folder, 'missing')]).to.equal(null);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
