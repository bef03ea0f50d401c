/** The licences of the packages in a bundle. */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './bundle.ts';

interface Manifest {
  version: string;
  license: string;
  author?: string | { name: string };
  contributors?: { name: string }[];
}

/** Returns the text of all licences, by the names of the packages. @throws if a package has none */
export function licencesOf(packages: Iterable<string>): string {
  const parts = [...packages].sort().map((name) => {
    const folder = join(ROOT, 'node_modules', name);
    const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest;
    return `${'='.repeat(80)}\n${name} ${manifest.version} (${manifest.license})\n\n${textOf(name, folder, manifest)}\n`;
  });
  return `Curbcut contains these packages. Its own licence is in LICENSE.\n\n${parts.join('\n')}`;
}

function textOf(name: string, folder: string, { license, author, contributors }: Manifest): string {
  const files = globSync(['LICEN[SC]E*', 'COPYING*', 'NOTICE*', 'ThirdPartyNotices*'], { cwd: folder }).sort();
  if (files.length > 0) return files.map((file) => readFileSync(join(folder, file), 'utf8').trim()).join('\n\n');
  if (license !== 'MIT') throw new Error(`${name} has no file with its licence, ${license}`);
  const holder = typeof author === 'object' ? author.name : (author ?? contributors?.[0]?.name ?? `the authors of ${name}`);
  return MIT.replace('HOLDER', holder);
}

/** Some packages name the licence only, without its text. */
const MIT = `Copyright (c) HOLDER

Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated documentation files
(the "Software"), to deal in the Software without restriction, including without limitation the rights to use, copy, modify, merge,
publish, distribute, sublicense, and/or sell copies of the Software, and to permit persons to whom the Software is furnished to do so,
subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF
MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR COPYRIGHT HOLDERS BE LIABLE
FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION
WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.`;
