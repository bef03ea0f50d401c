/** Reproducible archives. */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';

export interface ArchivedFile {
  content: string | Uint8Array;
  executable?: boolean;
}

/** The time of every file, in seconds since 1970: npm's own, because some tools refuse earlier ones (1985-10-26). */
const TIME = 499_162_500;

/** Writes a .tar.gz of files. @param files by their paths @returns its SHA-256 */
export async function writeArchive(target: string, files: Readonly<Record<string, ArchivedFile>>): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'curbcut-archive-'));
  try {
    for (const [path, { content, executable }] of Object.entries(files)) {
      await mkdir(join(folder, dirname(path)), { recursive: true });
      await writeFile(join(folder, path), content, { mode: executable ? 0o755 : 0o644 });
    }
    // Modes do not depend on the umask.
    const same = ['--format=ustar', '--owner=0', '--group=0', '--numeric-owner', '--mode=u=rwX,go=rX', `--mtime=@${TIME}`];
    const { stdout } = await promisify(execFile)('tar', ['-c', ...same, '-C', folder, '--', ...Object.keys(files).sort()], {
      encoding: 'buffer',
      maxBuffer: 256 * 1024 * 1024,
    });
    const packed = await promisify(gzip)(stdout, { level: 9 });
    await writeFile(target, packed);
    return createHash('sha256').update(packed).digest('hex');
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
