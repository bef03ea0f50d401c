/**
 * Builds everything that a release consists of into dist/: node tools/release/dist.ts [IMAGE …]
 *
 * SOURCE_URL is the address of the repository, REGISTRY where the images will be published: the chart names them there, by their digests.
 * With RELEASE=true, as in the release workflow, it refuses what a release must not have: changed files, a base without a digest,
 * another tag than the version's, no SOURCE_URL, no REGISTRY.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { writeArchive } from '../bundle/archive.ts';
import { notesOf } from './changelog.ts';
import { releasedValues } from './chart.ts';
import { licenceTable, type Sbom } from './licences.ts';
import { fileOf, layerTar, readArchive, type Archive } from './oci.ts';
import { provenanceOf, type Digest, type Subject } from './provenance.ts';
import { statedVersions, versionOf } from './version.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const DIST = join(ROOT, 'dist');
const { env } = process;

const say = (line: string): void => console.error(`release: ${line}`);
const git = (...args: string[]): string => execFileSync('git', args, { cwd: ROOT, encoding: 'utf8' }).trim();
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');
const sha256 = (path: string): Digest => ({ sha256: createHash('sha256').update(readFileSync(path)).digest('hex') });
/** What an image is called among the subjects of the provenance. */
const IMAGE = 'image:';
const nameOf = (subject: string): string => subject.replace(IMAGE, '');
/** Decimal, as registries count. */
const megabytes = (bytes: number): string => (bytes / 1e6).toFixed(1);

function run(command: string, args: readonly string[], environment: NodeJS.ProcessEnv = {}): void {
  const { status, error } = spawnSync(command, args, {
    cwd: ROOT,
    stdio: ['ignore', 'inherit', 'inherit'],
    env: { ...env, ...environment },
  });
  if (error) throw error;
  if (status !== 0) throw new Error(`${command} ${args.join(' ')} failed with exit code ${status}`);
}

/** What the release is made of. @throws Error if it cannot be a release */
function facts() {
  const version = versionOf(ROOT);
  const others = statedVersions(ROOT).filter((stated) => stated.version !== version);
  if (others.length > 0)
    throw new Error(`not ${version}: ${others.map(({ where, version: stated }) => `${where} (${stated})`).join(', ')}`);
  const revision = git('describe', '--always', '--abbrev=40', '--dirty', '--exclude', '*');
  const base = read('images/node-image').trim();
  const problems = [
    ...(revision.endsWith('-dirty') ? ['files differ from the commit'] : []),
    ...(base.includes('@sha256:')
      ? []
      : ['images/node-image has no digest: run node tools/release/pin-base.ts where a registry can be reached']),
    ...(git('tag', '--points-at', 'HEAD').split('\n').includes(`v${version}`) ? [] : [`the commit has no tag v${version}`]),
    ...(env.SOURCE_URL ? [] : ['SOURCE_URL is not set, the address of the repository']),
    ...(env.REGISTRY ? [] : ['REGISTRY is not set: the chart names images of curbcut.dev by their tags']),
  ];
  if (env.RELEASE === 'true' && problems.length > 0) throw new Error(`this is no release: ${problems.join('; ')}`);
  for (const problem of problems) say(`a dry run, because ${problem}`);
  return {
    version,
    revision,
    base,
    source: env.SOURCE_URL ?? '',
    notes: notesOf(read('CHANGELOG.md'), version),
    lockFile: sha256(join(ROOT, 'package-lock.json')),
    run: env.GITHUB_ACTIONS
      ? { workflow: `${env.SOURCE_URL}/.github/workflows/release.yaml@${env.GITHUB_REF}`, id: env.GITHUB_RUN_ID! }
      : null,
  };
}

/** The chart as `helm package` names it. Its bytes depend on the commit, the registry and the digests only. */
async function packChart(version: string, images: readonly Subject[]): Promise<void> {
  const digests = Object.fromEntries(images.map(({ name, digest }) => [nameOf(name), `sha256:${digest.sha256}`]));
  const files = git('ls-files', 'helm').split('\n');
  const contents = files.map((path) => {
    const isReleased = path === 'helm/values.yaml' && env.REGISTRY;
    const content = isReleased ? releasedValues(read(path), env.REGISTRY!, digests) : readFileSync(join(ROOT, path));
    return [path.replace(/^helm\//, 'curbcut/'), { content }] as const;
  });
  mkdirSync(join(DIST, 'chart'));
  await writeArchive(join(DIST, 'chart', `curbcut-${version}.tgz`), Object.fromEntries(contents));
}

/** Checks what the builder made of the platforms, the labels and the user. */
function checkImage(name: string, { images }: Archive, version: string, revision: string): void {
  const platforms = images.map(({ platform }) => platform).toSorted();
  const wanted = env.PLATFORMS?.split(',').toSorted() ?? platforms;
  if (String(platforms) !== String(wanted)) throw new Error(`${name} is for ${platforms.join(', ')}, not for ${wanted.join(', ')}`);
  for (const { platform, labels, user } of images) {
    const expected = { version, revision };
    for (const [label, value] of Object.entries(expected)) {
      const found = labels[`org.opencontainers.image.${label}`];
      // Some versions of buildah take a target with its labels from their cache if no file of it has changed.
      if (found !== value)
        throw new Error(`${name} (${platform}) has the ${label} ${found}, not ${value}: remove the image from the builder's cache`);
    }
    if (user !== '65532:65532') throw new Error(`${name} (${platform}) runs as ${user || 'root'}`);
  }
}

function describeImage(name: string, path: string, { images }: Archive): void {
  for (const image of images) {
    const layers = image.layers.map((layer) => ({ packed: layer.compressedBytes, whole: layerTar(path, layer).length }));
    const total = (of: 'packed' | 'whole'): number => layers.reduce((sum, layer) => sum + layer[of], 0);
    const each = layers.map(({ packed }) => megabytes(packed)).join(' + ');
    say(`${name} ${image.platform}: ${megabytes(total('packed'))} MB compressed (${each}), ${megabytes(total('whole'))} MB unpacked`);
  }
}

/** Builds images, without a name all of them, checks them, and takes out their SBOMs. @returns what a push gives a digest */
function buildImages(names: readonly string[], version: string, revision: string): Subject[] {
  run('tools/images', ['--archive', join(DIST, 'images'), ...names], { TAG: version });
  mkdirSync(join(DIST, 'sbom'));
  const sboms: Record<string, Sbom[]> = {};
  const subjects = filesIn(join(DIST, 'images')).map((file) => {
    const [name, path] = [file.replace('.tar', ''), join(DIST, 'images', file)];
    const archive = readArchive(path);
    checkImage(name, archive, version, revision);
    describeImage(name, path, archive);
    for (const image of archive.images) {
      const bytes = fileOf(path, image, 'app/sbom.cdx.json');
      (sboms[name] ??= []).push(JSON.parse(bytes.toString()) as Sbom);
      writeFileSync(join(DIST, 'sbom', `${name}-${image.platform.replace('/', '-')}.cdx.json`), bytes);
    }
    return { name: `${IMAGE}${name}`, digest: { sha256: archive.digest.replace('sha256:', '') } };
  });
  writeFileSync(join(DIST, 'licences.md'), licenceTable(sboms));
  writeFileSync(join(DIST, 'digests.txt'), subjects.map(({ name, digest }) => `${nameOf(name)} sha256:${digest.sha256}\n`).join(''));
  return subjects;
}

const filesIn = (folder: string): string[] =>
  globSync('**/*', { cwd: folder, withFileTypes: true })
    .filter((one) => one.isFile())
    .map((one) => join(one.parentPath, one.name).slice(folder.length + 1))
    .sort();

async function main(names: readonly string[]): Promise<void> {
  const release = facts();
  rmSync(DIST, { recursive: true, force: true });
  mkdirSync(DIST);
  writeFileSync(join(DIST, 'release-notes.md'), release.notes);
  run(process.execPath, ['tools/bundle.ts', join(DIST, 'cli')]);
  const images = buildImages(names, release.version, release.revision);
  await packChart(release.version, images);
  // By the names that the files have on the page of the release. Images are named by what they are in a registry.
  const files = filesIn(DIST).filter((name) => !name.startsWith('images/'));
  const subjects = files.map((name) => ({ name: basename(name), digest: sha256(join(DIST, name)) }));
  const twice = Object.values(Object.groupBy(files, (name) => basename(name))).filter((same) => same!.length > 1);
  if (twice.length > 0)
    throw new Error(`files on the page of a release must have different names: ${twice.map((same) => same!.join(' and ')).join(', ')}`);
  writeFileSync(join(DIST, 'provenance.intoto.json'), `${JSON.stringify(provenanceOf(release, [...images, ...subjects]), null, 2)}\n`);
  const sums = filesIn(DIST).map((name) => `${sha256(join(DIST, name)).sha256}  ${name}\n`);
  writeFileSync(join(DIST, 'SHA256SUMS'), sums.join(''));
  say(`${sums.length + 1} files in dist/; check them with: cd dist && sha256sum -c SHA256SUMS`);
  if (release.run === null) say('nothing is signed: the release workflow signs the images, the provenance and the checksums');
}

try {
  await main(process.argv.slice(2));
} catch (error) {
  say((error as Error).message);
  process.exit(1);
}
