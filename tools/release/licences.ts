/** The list of the packages in a release and their licences, from the SBOMs of its images. */

export interface Sbom {
  components: readonly {
    name: string;
    version?: string;
    purl?: string;
    licenses?: readonly { license?: { id?: string; name?: string }; expression?: string }[];
  }[];
}

/**
 * A table in Markdown: each package once, with the images that hold it. Own packages are left out.
 * @param sboms those of an image's platforms, by the names of the images
 */
export function licenceTable(sboms: Readonly<Record<string, readonly Sbom[]>>): string {
  const rows = new Map<string, { licences: string; images: string[] }>();
  for (const [image, ofPlatforms] of Object.entries(sboms)) {
    for (const { name, version = '', purl = '', licenses = [] } of ofPlatforms.flatMap(({ components }) => components)) {
      if (name.startsWith('@curbcut/') || name === 'curbcut') continue;
      const kind = purl.startsWith('pkg:deb/') ? 'Debian' : purl.startsWith('pkg:npm/') ? 'npm' : 'other';
      const key = `| ${kind} | ${name} | ${version} |`;
      const licences = licenses.map(({ license, expression }) => expression ?? license?.id ?? license?.name ?? '').join(', ');
      const row = rows.get(key) ?? { licences, images: [] };
      if (!row.images.includes(image)) row.images.push(image);
      rows.set(key, row);
    }
  }
  const lines = [...rows].map(([key, row]) => `${key} ${row.licences || 'see /usr/share/doc in the image'} | ${row.images.join(', ')} |`);
  return [
    '# Licences of the packages in the images\n',
    'Curbcut itself is licensed under Apache-2.0. Licence texts are in the images: `/app/LICENSE`, `/usr/share/doc/*/copyright`, and those of the npm packages in `/app/node_modules/*/LICENSE`, in `cli` in `/app/LICENSES-OF-PACKAGES.txt`.\n',
    '| from | package | version | licences | images |',
    '|---|---|---|---|---|',
    ...lines.sort(),
    '',
  ].join('\n');
}
