/** The custom resource definitions of Flux and Argo CD, from the Go modules that contain them. They are not part of this repository. */
import { execFile } from 'node:child_process';
import { globSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

/** Module, version, and the files in it. notification-controller's module cannot be had, so its kinds are checked by hand. */
const MODULES = [
  ['github.com/fluxcd/source-controller', 'v1.8.5', 'config/crd/bases/*.yaml'],
  ['github.com/fluxcd/kustomize-controller', 'v1.7.3', 'config/crd/bases/*.yaml'],
  ['github.com/fluxcd/helm-controller', 'v1.4.0', 'config/crd/bases/*.yaml'],
  ['github.com/controlplaneio-fluxcd/flux-operator', 'v0.59.0', 'config/crd/bases/*.yaml'],
  ['github.com/argoproj/argo-cd/v3', 'v3.3.19', 'manifests/crds/*-crd.yaml'],
] as const;

const run = promisify(execFile);

/** Returns the paths of the definitions, or why there are none: Go or its module proxy is missing. Go caches the modules. */
export async function foreignDefinitions(): Promise<{ ok: true; files: string[] } | { ok: false; reason: string }> {
  // Outside of a module, Go downloads without a go.mod. Modules that need a newer Go are unpacked all the same.
  const options = { cwd: tmpdir(), env: { ...process.env, GOFLAGS: '-mod=mod', GOTOOLCHAIN: 'local' }, timeout: 240_000 };
  try {
    const cache = (await run('go', ['env', 'GOMODCACHE'], options)).stdout.trim();
    const files: string[] = [];
    for (const [module, version, pattern] of MODULES) {
      const folder = join(cache, `${module}@${version}`);
      const present = (): string[] => globSync(pattern, { cwd: folder }).map((path) => join(folder, path));
      if (present().length === 0) await run('go', ['mod', 'download', `${module}@${version}`], options).catch(() => undefined);
      if (present().length === 0) return { ok: false, reason: `the Go module ${module}@${version} cannot be downloaded` };
      files.push(...present());
    }
    return { ok: true, files };
  } catch (error) {
    return { ok: false, reason: `go is not installed (${(error as Error).message.split('\n')[0]})` };
  }
}
