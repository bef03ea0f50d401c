/**
 * Lists everything that an image contains, as CycloneDX: npm packages, Node.js and Debian packages. Runs in the build, in the folder of
 * the program on the root file system of the image.
 *
 *   node sbom.ts >sbom.cdx.json
 *
 * `npm sbom` knows the npm packages only, and npm 11.19 does not finish for the workspaces of every image (endless recursion).
 */
import { existsSync, readFileSync } from 'node:fs';
import { arch, version as nodeVersion } from 'node:process';

interface Component {
  type: 'library' | 'application' | 'operating-system';
  name: string;
  version: string;
  purl?: string;
  cpe?: string;
  'bom-ref': string;
  hashes?: { alg: string; content: string }[];
  licenses?: ({ license: { name: string } } | { expression: string })[];
}

/** `node_modules/.package-lock.json`: what npm installed. */
export interface Installed {
  packages: Readonly<Record<string, { version?: string; integrity?: string; license?: string; link?: boolean }>>;
}

const FOLDER = 'node_modules/';

/** The installed npm packages of others, each version once. @param isThere whether a path was not removed since */
export function npmComponents({ packages }: Installed, isThere: (path: string) => boolean): Component[] {
  const components = Object.entries(packages).flatMap(([path, { version, integrity = '', license, link }]) => {
    if (link === true || version === undefined || !path.includes(FOLDER) || !isThere(path)) return [];
    const name = path.slice(path.lastIndexOf(FOLDER) + FOLDER.length);
    const purl = `pkg:npm/${name.replace('@', '%40')}@${version}`;
    const [, sha512] = /^sha512-(\S+)$/.exec(integrity) ?? [];
    const component: Component = {
      ...{ type: 'library', name, version, purl, 'bom-ref': purl },
      ...(sha512 && { hashes: [{ alg: 'SHA-512', content: Buffer.from(sha512, 'base64').toString('hex') }] }),
      ...(license !== undefined && { licenses: [{ expression: license }] }),
    };
    return [[purl, component] as const];
  });
  return [...new Map(components).values()];
}

/** The licences that a Debian copyright file names, if it is machine-readable (DEP-5). */
export function licencesOf(copyright: string): string[] {
  if (!/^Format: /m.test(copyright)) return [];
  return [...new Set([...copyright.matchAll(/^License: *(\S.*)$/gm)].map(([, name]) => name!.trim()))].sort();
}

/** The installed packages of dpkg's status file. */
export function debianComponents(status: string, distribution: string, copyrightOf: (name: string) => string): Component[] {
  return status.split(/\n\n+/).flatMap((paragraph) => {
    const field = (name: string): string => new RegExp(`^${name}: (.*)$`, 'm').exec(paragraph)?.[1] ?? '';
    if (!field('Status').endsWith(' installed')) return [];
    const [name, version] = [field('Package'), field('Version')];
    // Advisories name source packages: "glibc", or "glibc (2.36-9)" if the version differs.
    const [, source, sourceVersion] = /^(\S+)(?: \((.*)\))?$/.exec(field('Source')) ?? [];
    const upstream = source && { upstream: sourceVersion ? `${source}@${sourceVersion}` : source };
    const query = new URLSearchParams({ arch: field('Architecture'), distro: distribution, ...upstream }).toString();
    const purl = `pkg:deb/debian/${encodeURIComponent(name)}@${encodeURIComponent(version)}?${query}`;
    const licenses = licencesOf(copyrightOf(name)).map((licence) => ({ license: { name: licence } }));
    return [{ type: 'library' as const, name, version, purl, 'bom-ref': purl, ...(licenses.length > 0 && { licenses }) }];
  });
}

/** Node.js. Advisories name it by its CPE, and scanners look at libraries and applications only. */
export function nodeComponent(version: string): Component {
  const purl = `pkg:generic/node@${version}?arch=${arch}`;
  const cpe = `cpe:2.3:a:nodejs:node.js:${version}:*:*:*:*:*:*:*`;
  return { type: 'application', name: 'node', version, cpe, purl, 'bom-ref': purl, licenses: [{ expression: 'MIT' }] };
}

/** An SBOM without a date or a random number, so that the same packages give the same file. */
export function sbomOf(version: string, components: readonly Component[]): object {
  const component = {
    type: 'application',
    name: 'curbcut',
    version,
    'bom-ref': `curbcut@${version}`,
    licenses: [{ license: { id: 'Apache-2.0' } }],
  };
  return { bomFormat: 'CycloneDX', specVersion: '1.6', version: 1, metadata: { component }, components };
}

function readIfThere(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return ''; // A package without such a file: its licence stays unknown.
  }
}

if (import.meta.main) {
  const json = <T>(path: string): T => JSON.parse(readFileSync(path, 'utf8')) as T;
  const system = new Map(
    [...readFileSync('/etc/os-release', 'utf8').matchAll(/^(\w+)="?([^"\n]*)"?$/gm)].map(([, name, value]) => [name, value]),
  );
  const [id = '', release = ''] = [system.get('ID'), system.get('VERSION_ID')];
  const sbom = sbomOf(json<{ version: string }>('package.json').version, [
    { type: 'operating-system', name: id, version: release, 'bom-ref': `os:${id}@${release}` },
    nodeComponent(nodeVersion.slice(1)),
    ...npmComponents(json<Installed>('node_modules/.package-lock.json'), existsSync),
    ...debianComponents(readFileSync('/var/lib/dpkg/status', 'utf8'), `${id}-${release}`, (name) =>
      readIfThere(`/usr/share/doc/${name}/copyright`),
    ),
  ]);
  console.log(JSON.stringify(sbom));
}
