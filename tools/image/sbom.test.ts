import { expect } from 'chai';
import { debianComponents, licencesOf, nodeComponent, npmComponents, sbomOf } from './sbom.ts';

const STATUS = `Package: libc6
Status: install ok installed
Architecture: amd64
Source: glibc
Version: 2.36-9+deb12u13

Package: binutils
Status: deinstall ok config-files
Architecture: amd64
Version: 2.40-2

Package: tzdata
Source: tz (2025b)
Status: install ok installed
Architecture: all
Version: 2025b-0+deb12u2
`;
const DEP5 = `Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/

Files: *
License: LGPL-2.1+

Files: other
License: MIT

License: MIT
 Permission is hereby granted
`;

describe('the SBOM of an image', () => {
  const components = debianComponents(STATUS, 'debian-12', (name) => (name === 'libc6' ? DEP5 : 'Public domain.'));

  it('lists the installed Debian packages with the address and licences that scanners read', () => {
    expect(components.map(({ purl }) => purl)).to.deep.equal([
      'pkg:deb/debian/libc6@2.36-9%2Bdeb12u13?arch=amd64&distro=debian-12&upstream=glibc',
      'pkg:deb/debian/tzdata@2025b-0%2Bdeb12u2?arch=all&distro=debian-12&upstream=tz%402025b',
    ]);
    expect(components.map(({ licenses }) => licenses)).to.deep.equal([
      [{ license: { name: 'LGPL-2.1+' } }, { license: { name: 'MIT' } }],
      undefined,
    ]);
  });

  it('lists Node.js as scanners look for it', () => {
    expect(nodeComponent('24.1.0')).to.include({ type: 'application', cpe: 'cpe:2.3:a:nodejs:node.js:24.1.0:*:*:*:*:*:*:*' });
  });

  it('knows no licence of a free text', () => expect(licencesOf('License: see below')).to.deep.equal([]));

  it('lists each version of the npm packages of others once', () => {
    const integrity = `sha512-${Buffer.from('0123').toString('base64')}`;
    const packages = {
      '': { version: '1.2.3' },
      core: { version: '1.2.3' },
      'node_modules/@curbcut/core': { link: true },
      'node_modules/@aws/client': { version: '3.0.0', integrity, license: 'Apache-2.0' },
      'node_modules/ms': { version: '2.0.0', license: '(MIT OR ISC)' },
      'node_modules/@aws/client/node_modules/ms': { version: '2.1.0' },
      'node_modules/other/node_modules/ms': { version: '2.0.0' },
      'node_modules/removed': { version: '1.0.0' },
    };
    const npm = npmComponents({ packages }, (path) => !path.endsWith('removed'));
    expect(npm.map(({ name, purl }) => `${name} ${purl}`)).to.deep.equal([
      '@aws/client pkg:npm/%40aws/client@3.0.0',
      'ms pkg:npm/ms@2.0.0',
      'ms pkg:npm/ms@2.1.0',
    ]);
    expect(npm[0]).to.deep.include({ hashes: [{ alg: 'SHA-512', content: '30313233' }], licenses: [{ expression: 'Apache-2.0' }] });
    expect(sbomOf('1.2.3', npm)).to.nested.include({ bomFormat: 'CycloneDX', 'metadata.component.version': '1.2.3' });
  });
});
