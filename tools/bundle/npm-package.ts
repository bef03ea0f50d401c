/** The npm package: the programs, and the scanner for `--local`. It has no dependencies, so that it can be installed without a registry. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { scannerFiles } from './scanner.ts';
import { NODE_NEEDED, ROOT, SDK_FILE, type Bundle } from './bundle.ts';
import { writeArchive, type ArchivedFile } from './archive.ts';
import { licencesOf } from './licences.ts';

/** The programs of the package, and what each runs. */
const PROGRAMS: Readonly<Record<string, string>> = {
  curbcut: "require('../curbcut.cjs').run();",
};

/** Writes the package into a folder. @param source the address of the repository, which a package with provenance must name; or empty */
export async function writePackage(program: Bundle, sdk: Bundle, out: string, source: string): Promise<void> {
  const { name, version, description, license } = JSON.parse(read('package.json')) as Record<string, string>;
  const scanner = await scannerFiles();
  const manifest = {
    name,
    version,
    description,
    license,
    ...(source !== '' && { repository: { type: 'git', url: `git+${source}.git` } }),
    engines: { node: `>=${NODE_NEEDED}` },
    bin: Object.fromEntries(Object.keys(PROGRAMS).map((file) => [file, `bin/${file}`])),
  };
  const files: Record<string, ArchivedFile> = {
    'package.json': { content: `${JSON.stringify(manifest, null, 2)}\n` },
    'README.md': { content: read('cli/README.md') },
    ...licenceFiles(new Set([...program.packages, ...sdk.packages, ...scanner.packages])),
    'curbcut.cjs': { content: program.code },
    [SDK_FILE]: { content: sdk.code },
    ...Object.fromEntries(
      Object.entries(PROGRAMS).map(([file, code]) => [`bin/${file}`, { content: `#!/usr/bin/env node\n${code}\n`, executable: true }]),
    ),
    ...scanner.files,
  };
  const inPackage = Object.fromEntries(Object.entries(files).map(([path, file]) => [`package/${path}`, file]));
  // The chart is called curbcut-VERSION.tgz, and the page of a release has both.
  await writeArchive(join(out, `${name}-npm-${version}.tgz`), inPackage);
}

/** The licences of ours and of the packages. Texts of axe-core's rules are in every bundle. */
export const licenceFiles = (packages: ReadonlySet<string>): Record<string, ArchivedFile> => ({
  LICENSE: { content: read('LICENSE') },
  'LICENSES-OF-PACKAGES.txt': { content: licencesOf(new Set([...packages, 'axe-core'])) },
});

const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');
