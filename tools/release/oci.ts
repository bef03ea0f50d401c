/** Reads OCI archives: what tools/images --archive writes. */
import { execFileSync } from 'node:child_process';
import { gunzipSync } from 'node:zlib';

export interface Layer {
  digest: string;
  /** What a pull transfers. */
  compressedBytes: number;
}

/** The image of one platform. */
export interface PlatformImage {
  /** Such as linux/amd64. */
  platform: string;
  digest: string;
  labels: Readonly<Record<string, string>>;
  user: string;
  /** From the lowest. */
  layers: readonly Layer[];
}

export interface Archive {
  /** The digest that a push gets: of the index if there are several platforms. */
  digest: string;
  images: readonly PlatformImage[];
}

interface Descriptor {
  mediaType: string;
  digest: string;
  size: number;
  platform?: { os: string };
}

interface Config {
  os: string;
  architecture: string;
  config: { Labels?: Record<string, string>; User?: string };
}

const MAX_BYTES = 4 * 1024 ** 3;
const INDEX = 'application/vnd.oci.image.index.v1+json';

const entry = (archive: string, path: string): Buffer => execFileSync('tar', ['-xOf', archive, path], { maxBuffer: MAX_BYTES });
const blob = (archive: string, digest: string): Buffer => entry(archive, `blobs/${digest.replace(':', '/')}`);
const json = <T>(bytes: Buffer): T => JSON.parse(bytes.toString()) as T;

/** What an archive holds. @throws Error if it holds not exactly one image or index */
export function readArchive(archive: string): Archive {
  const { manifests } = json<{ manifests: Descriptor[] }>(entry(archive, 'index.json'));
  const [top, ...more] = manifests;
  if (top === undefined || more.length > 0) throw new Error(`${archive} holds ${manifests.length} images instead of one`);
  const platforms = top.mediaType === INDEX ? json<{ manifests: Descriptor[] }>(blob(archive, top.digest)).manifests : [top];
  // Attestations of BuildKit have no operating system.
  const images = platforms.filter(({ platform }) => platform?.os !== 'unknown').map(({ digest }) => readImage(archive, digest));
  return { digest: top.digest, images };
}

function readImage(archive: string, digest: string): PlatformImage {
  const manifest = json<{ config: Descriptor; layers: Descriptor[] }>(blob(archive, digest));
  const { os, architecture, config } = json<Config>(blob(archive, manifest.config.digest));
  return {
    platform: `${os}/${architecture}`,
    digest,
    labels: config.Labels ?? {},
    user: config.User ?? '',
    layers: manifest.layers.map((layer) => ({ digest: layer.digest, compressedBytes: layer.size })),
  };
}

/** The unpacked tar of a layer. */
export const layerTar = (archive: string, { digest }: Layer): Buffer => gunzipSync(blob(archive, digest));

/** A file of the image, from the highest layer that has it. @throws Error if no layer has it */
export function fileOf(archive: string, image: PlatformImage, path: string): Buffer {
  for (const layer of image.layers.toReversed()) {
    const tar = layerTar(archive, layer);
    const names = execFileSync('tar', ['-tf', '-'], { input: tar, encoding: 'utf8', maxBuffer: MAX_BYTES }).split('\n');
    const name = names.find((one) => one.replace(/^\.?\//, '') === path);
    if (name !== undefined) return execFileSync('tar', ['-xOf', '-', name], { input: tar, maxBuffer: MAX_BYTES });
  }
  throw new Error(`${archive} has no file ${path}`);
}
