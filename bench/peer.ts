/** A server that answers every request at once, in a process of its own. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';

/** Starts `static-route.ts`. @param closers gets what ends it @returns its address */
export async function startPeer(closers: (() => Promise<unknown>)[]): Promise<string> {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'static-route.ts')], { stdio: ['ignore', 'pipe', 'inherit'] });
  closers.push(async () => void child.kill());
  const [line] = (await once(child.stdout, 'data')) as [Buffer];
  return `http://127.0.0.1:${Number(line.toString())}`;
}
