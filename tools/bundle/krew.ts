/**
 * The plugin for krew. A script in sh starts it, which reports that there is no Node.js. One archive serves Linux and macOS on every
 * processor. krew can start only .exe files on Windows, where the npm package has the plugin.
 */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { writeArchive } from './archive.ts';
import { NODE_NEEDED, type Bundle } from './bundle.ts';
import { licenceFiles } from './npm-package.ts';
import { CURBCUT_VERSION } from '../../platform/version.ts';

/** krew links to the script from another folder. */
const LAUNCHER = `#!/bin/sh
file=$0
while [ -L "$file" ]; do
  link=$(readlink "$file")
  case $link in
    /*) file=$link ;;
    *) file=$(dirname "$file")/$link ;;
  esac
done
if ! command -v node >/dev/null; then
  echo 'kubectl curbcut: Node.js ${NODE_NEEDED} or later is required, and there is no node in PATH.' >&2
  exit 2
fi
exec node -e 'require(process.argv[1]).run("kubectl curbcut")' "$(cd "$(dirname "$file")" && pwd)/curbcut.cjs" "$@"
`;

/** Writes archive and manifest into a folder. @param url the folder from which krew will get the archive */
export async function writeKrew(program: Bundle, out: string, url: string): Promise<void> {
  const archive = `kubectl-curbcut-${CURBCUT_VERSION}.tar.gz`;
  const sha256 = await writeArchive(join(out, archive), {
    'kubectl-curbcut': { content: LAUNCHER, executable: true },
    'curbcut.cjs': { content: program.code },
    ...licenceFiles(program.packages),
  });
  const platform = (os: string, arch: string): object => ({
    selector: { matchLabels: { os, arch } },
    uri: `${url}/${archive}`,
    sha256,
    bin: 'kubectl-curbcut',
  });
  const manifest = {
    apiVersion: 'krew.googlecontainertools.github.com/v1alpha2',
    kind: 'Plugin',
    metadata: { name: 'curbcut' },
    spec: {
      version: `v${CURBCUT_VERSION}`,
      shortDescription: 'Test the accessibility of web sites',
      description:
        'Creates and follows AccessibilityScans, lists queues, and runs schedules of Curbcut, an accessibility scanning service for Kubernetes.\n',
      caveats: `It needs Node.js ${NODE_NEEDED} or later in PATH, and Curbcut in the cluster.\n`,
      platforms: ['linux', 'darwin'].flatMap((os) => ['amd64', 'arm64'].map((arch) => platform(os, arch))),
    },
  };
  await writeFile(join(out, 'curbcut.yaml'), stringify(manifest, { lineWidth: 0, aliasDuplicateObjects: false }));
}
