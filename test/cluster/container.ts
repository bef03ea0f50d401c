/** Runs a script in the container of a CI job: a Job with the image of the command line or of the scanner. */
import { randomUUID } from 'node:crypto';
import { eventually, type WholeProduct } from '../journey/product.ts';

export interface ContainerRun {
  /** The one of the command line, or that of the scanner, which scans without a service, too. */
  image: 'cli' | 'scanner';
  script: string;
  /** `$FOLDER` in values is the folder with the files. The working directory is another one, which is empty and writable. */
  variables: Readonly<Record<string, string>>;
  /** The files of the job, by their path in the folder. */
  files: Readonly<Record<string, string>>;
}

export interface ContainerResult {
  code: number;
  /** Both streams. */
  output: string;
}

export type Container = (run: ContainerRun) => Promise<ContainerResult>;

interface Pods {
  items: { status: { containerStatuses?: { state: { terminated?: { exitCode: number } } }[] } }[];
}

/** One stream, so that lines keep their order. */
const bash = (script: string): string[] => ['bash', '-e', '-o', 'pipefail', '-c', `exec 2>&1\n${script}`];
const FOLDER = /\$FOLDER/g;
const JOB_WITHIN_MS = 300_000;
/** As `tools/images` names it. */
const CLI_IMAGE = `${process.env.IMAGE_PREFIX ?? 'curbcut.dev'}/cli:${process.env.TAG ?? 'dev'}`;

export function containerOf({ kubectl, environment }: WholeProduct): Container {
  return async ({ image, script, variables, files }) => {
    const name = `ci-${randomUUID().slice(0, 8)}`;
    const folder = '/files';
    const metadata = { name };
    const stored = Object.entries(files).map(([path, text], index) => ({ key: `file-${index}`, path, text }));
    const data = Object.fromEntries(stored.map(({ key, text }) => [key, text]));
    await kubectl(['apply', '-f', '-'], JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata, data }));
    const env = Object.entries(variables).map(([key, value]) => ({ name: key, value: value.replace(FOLDER, folder) }));
    const container = {
      name: 'step',
      image: image === 'scanner' ? environment.SCANNER_IMAGE : CLI_IMAGE,
      imagePullPolicy: 'IfNotPresent',
      command: bash(script),
      workingDir: '/work',
      env: [...env, { name: 'HOME', value: '/tmp' }],
      resources: { requests: { cpu: '100m', memory: '256Mi' }, limits: { memory: '2Gi' } },
      securityContext: { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: ['ALL'] } },
      volumeMounts: [
        { name: 'files', mountPath: folder },
        { name: 'work', mountPath: '/work' },
        { name: 'tmp', mountPath: '/tmp' },
      ],
    };
    const spec = {
      restartPolicy: 'Never',
      automountServiceAccountToken: false,
      // The group of the folders that the numeric user of the image writes.
      securityContext: { runAsNonRoot: true, fsGroup: 65532, seccompProfile: { type: 'RuntimeDefault' } },
      containers: [container],
      volumes: [
        { name: 'files', configMap: { name, defaultMode: 0o555, items: stored.map(({ key, path }) => ({ key, path })) } },
        { name: 'work', emptyDir: {} },
        { name: 'tmp', emptyDir: {} },
      ],
    };
    const job = { apiVersion: 'batch/v1', kind: 'Job', metadata, spec: { backoffLimit: 0, template: { spec } } };
    await kubectl(['apply', '-f', '-'], JSON.stringify(job));
    const read = async () => JSON.parse(await kubectl(['get', 'pods', '-l', `job-name=${name}`, '-o', 'json'])) as Pods;
    const codeOf = ({ items }: Pods) => items[0]?.status.containerStatuses?.[0]?.state.terminated?.exitCode;
    const ended = await eventually(read, (pods) => codeOf(pods) !== undefined, JOB_WITHIN_MS);
    return { code: codeOf(ended)!, output: await kubectl(['logs', `job/${name}`]) };
  };
}
