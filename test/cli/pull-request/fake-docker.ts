/** Stands for docker, which the machines of the tests do not have. */
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * Writes a program `docker` to a folder for `PATH`. It runs the command after the image on this machine, with the variables that are
 * passed on and no others, and appends its arguments and the names of the variables to `docker.log` there.
 */
export async function writeFakeDocker(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  const script = `#!/bin/bash
echo "$@" >>"${folder}/docker.log"
pass=()
while [ "$1" != curbcut ]; do
  if [ "$1" = --env ] && [ -n "\${!2+set}" ]; then pass+=("$2=\${!2}"); fi
  shift
done
echo "$2 has \${pass[*]%%=*}" >>"${folder}/docker.log"
exec env -i HOME="$HOME" PATH="$PATH" CHROMIUM_PATH="$CHROMIUM_PATH" TMPDIR="\${TMPDIR:-/tmp}" "\${pass[@]}" "$@"
`;
  await writeFile(join(folder, 'docker'), script);
  await chmod(join(folder, 'docker'), 0o755);
}
