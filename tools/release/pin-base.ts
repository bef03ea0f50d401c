/**
 * Pins the base of all images: writes the digest that the registry has now into images/node-image.
 *
 *   node tools/release/pin-base.ts
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const TIMEOUT_MS = 30_000;
const ACCEPT = 'application/vnd.oci.image.index.v1+json, application/vnd.docker.distribution.manifest.list.v2+json';

/**
 * A reference with the digest of its index, for all platforms.
 * @param protocol http: only for a registry on this machine
 * @throws Error if the registry does not answer with a digest
 */
export async function pinned(reference: string, protocol = 'https:'): Promise<string> {
  const [image = ''] = reference.trim().split('@');
  const match = /^([^/]+)\/(.+):([^:/]+)$/.exec(image);
  if (match === null) throw new Error(`${image} must be REGISTRY/NAME:TAG`);
  const [, registry, name, tag] = match;
  // The registry of docker.io has another name.
  const host = registry === 'docker.io' ? 'registry-1.docker.io' : registry;
  const url = `${protocol}//${host}/v2/${name}/manifests/${tag}`;
  const ask = (headers: Record<string, string> = {}): Promise<Response> =>
    fetch(url, { method: 'HEAD', headers: { accept: ACCEPT, ...headers }, signal: AbortSignal.timeout(TIMEOUT_MS) });
  let answer = await ask();
  if (answer.status === 401)
    answer = await ask({ authorization: `Bearer ${await anonymousToken(answer.headers.get('www-authenticate') ?? '')}` });
  const digest = answer.headers.get('docker-content-digest') ?? '';
  if (!answer.ok || !/^sha256:[0-9a-f]{64}$/.test(digest)) throw new Error(`${url} answered ${answer.status}, without a digest`);
  return `${image}@${digest}`;
}

/** The token that a registry gives everybody for public images. */
async function anonymousToken(challenge: string): Promise<string> {
  const parameters = Object.fromEntries([...challenge.matchAll(/(\w+)="([^"]*)"/g)].map(([, name, value]) => [name!, value!]));
  const { realm, ...query } = parameters;
  if (realm === undefined) throw new Error(`the registry asks for ${challenge || 'unknown credentials'}, not for a token`);
  const answer = await fetch(`${realm}?${new URLSearchParams(query)}`, { signal: AbortSignal.timeout(TIMEOUT_MS) });
  const { token } = (await answer.json()) as { token?: string };
  if (token === undefined) throw new Error(`${realm} answered ${answer.status}, without a token`);
  return token;
}

if (import.meta.main) {
  const file = join(import.meta.dirname, '..', '..', 'images', 'node-image');
  try {
    const reference = await pinned(readFileSync(file, 'utf8'));
    writeFileSync(file, `${reference}\n`);
    console.log(reference);
  } catch (error) {
    const { message, cause } = error as Error;
    console.error(`pin-base: ${message}${cause instanceof Error ? ` (${cause.message})` : ''}`);
    process.exit(1);
  }
}
