/** Runs kubectl in tests, on the cluster of a kubeconfig. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** Runs kubectl. @param input what it reads from its standard input @returns its output @throws with its stderr if it fails */
export type Kubectl = (args: readonly string[], input?: object | string) => Promise<string>;

export function kubectlIn(kubeconfig: string, namespace: string): Kubectl {
  return async (args, input) => {
    const child = run('kubectl', ['--kubeconfig', kubeconfig, '--namespace', namespace, ...args], { maxBuffer: 16 << 20 });
    child.child.stdin!.end(typeof input === 'object' ? JSON.stringify(input) : (input ?? ''));
    return (await child).stdout;
  };
}
