/** A folder with the keys of a Secret, which is updated as the kubelet does it: all keys at once, by a symbolic link. */
import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface MountedSecret {
  /** The path of each key, as `NAME_FILE`. */
  environment: Record<string, string>;
  /** Replaces the content. */
  write(values: Readonly<Record<string, string>>): void;
  remove(): void;
}

export function mountSecret(values: Readonly<Record<string, string>>): MountedSecret {
  const folder = mkdtempSync(join(tmpdir(), 'curbcut-secret-'));
  let version = 0;
  function write(next: Readonly<Record<string, string>>): void {
    version += 1;
    mkdirSync(join(folder, `..${version}`));
    for (const [name, value] of Object.entries(next)) writeFileSync(join(folder, `..${version}`, name), `${value}\n`);
    symlinkSync(`..${version}`, join(folder, '..new'));
    renameSync(join(folder, '..new'), join(folder, '..data'));
  }
  write(values);
  for (const name of Object.keys(values)) symlinkSync(join('..data', name), join(folder, name));
  return {
    environment: Object.fromEntries(Object.keys(values).map((name) => [`${name}_FILE`, join(folder, name)])),
    write,
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}
