/** The list of the packages in a release and their licences, from the SBOMs of its images. */

export interface Sbom {
  components: readonly {
    name: string;
    version?: string;
    purl?: string;
    licenses?: readonly { license?: { id?: string; name?: string }; expression?: string }[];
  }[];
}

/** A table in Markdown: each package once, with the images that hold it. Own packages are left out. */
export function licenceTable(sboms: Readonly<Record<string, Sbom>>): string {
  const rows = new Map<string, { licences: string; images: string[] }>();
  for (const [image, { components }] of Object.entries(sboms)) {
    for (const { name, version = '', purl = '', licenses = [] } of components) {
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
    'Curbcut itself is licensed under Apache-2.0. The licence texts are in the images: `/app/node_modules/*/LICENSE`, `/usr/share/doc/*/copyright`.\n',
    '| from | package | version | licences | images |',
    '|---|---|---|---|---|',
    ...lines.sort(),
    '',
  ].join('\n');
}
