/**
 * One port for everything that a browser opens: a container publishes one. Requests with the bucket's path, as in download links,
 * go to the object store. The inbox and the demo site have hosts: names below localhost are loopback. The API gets all others.
 */
import { createServer, type IncomingMessage, request as openRequest, type ServerResponse } from 'node:http';
import { accessSync, constants, statfsSync } from 'node:fs';
import { totalmem } from 'node:os';

/**
 * Whether a container has what the whole product needs. API, operator, stores, a scanner and Chromium with two tabs: 1.24 GB at the peak of
 * a scan of the demo site.
 */
export const MEMORY_MIN = 1_500_000_000;
/** Reports, documents and logs of some scans; the profile of Chromium; also its shared memory if /dev/shm is small. */
export const FOLDER_MIN = 200_000_000;

interface Place {
  /** The limit of the container, or what the machine has. */
  memoryBytes: number;
  /** Free space by folder. Null if the folder cannot be written. */
  folders: Readonly<Record<string, number | null>>;
}

const megabytes = (bytes: number): string => `${Math.round(bytes / 1e6)} MB`;

/** What is missing, one sentence each. */
export function missingIn({ memoryBytes, folders }: Place): string[] {
  return [
    ...(memoryBytes >= MEMORY_MIN
      ? []
      : [
          `The container may use ${megabytes(memoryBytes)} of memory; Curbcut with a browser needs ${megabytes(MEMORY_MIN)} (docker run --memory 2g).`,
        ]),
    ...Object.entries(folders).flatMap(([folder, free]) => {
      if (free === null)
        return [
          `The container cannot write to ${folder}; with a read-only root, mount a tmpfs there (docker run --tmpfs ${folder}:mode=1777).`,
        ];
      return free >= FOLDER_MIN ? [] : [`${folder} has ${megabytes(free)} of free space; Curbcut needs ${megabytes(FOLDER_MIN)} there.`];
    }),
  ];
}

export function lookAround(folders: readonly string[]): Place {
  return {
    // Zero, or more than any machine has, if there is no limit.
    memoryBytes: Math.min(process.constrainedMemory() || Infinity, totalmem()),
    folders: Object.fromEntries(folders.map((folder) => [folder, freeIn(folder)])),
  };
}

function freeIn(folder: string): number | null {
  try {
    accessSync(folder, constants.W_OK | constants.X_OK);
    const { bavail, bsize } = statfsSync(folder);
    return bavail * bsize;
  } catch {
    return null; // Reported as a folder that cannot be written.
  }
}

export interface FrontOptions {
  host: string;
  port: number;
  /** The addresses of the servers. */
  api: string;
  inbox: string | null;
  demo: string;
  /** The embedded object store. Null: people reach a real one by its own address. */
  objects: { address: string; bucket: string } | null;
}

export interface Front {
  close(): Promise<void>;
}

/** The address of a server behind the front: `http://inbox.localhost:8080`. Null if browsers reach the front by another name. */
export function namedAddress(name: string, publicUrl: string): string | null {
  const { protocol, hostname, port } = new URL(publicUrl);
  if (!/^(127\.\d+\.\d+\.\d+|localhost|\[::1\])$/.test(hostname)) return null;
  return `${protocol}//${name}.localhost${port && `:${port}`}`;
}

/** Which server answers a request. */
export function backendOf({ url = '/', headers }: Pick<IncomingMessage, 'url' | 'headers'>, options: FrontOptions): string {
  const [name] = (headers.host ?? '').toLowerCase().split('.localhost', 1);
  if (name === 'demo') return options.demo;
  if (name === 'inbox' && options.inbox !== null) return options.inbox;
  const { objects, api } = options;
  return objects !== null && url.startsWith(`/${objects.bucket}/`) ? objects.address : api;
}

/** Starts the front. @throws Error if the port is in use */
export async function startFront(options: FrontOptions): Promise<Front> {
  const server = createServer((request, response) => forward(request, response, backendOf(request, options)));
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(options.port, options.host, resolve));
  return {
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** Forwards as it is, with the Host of the browser: links and signatures of the object store hold it. */
function forward(request: IncomingMessage, response: ServerResponse, backend: string): void {
  const { hostname, port } = new URL(backend);
  const { method, url: path, headers } = request;
  const onward = openRequest({ hostname, port, method, path, headers }, (answer) => {
    response.writeHead(answer.statusCode!, answer.rawHeaders);
    answer.pipe(response);
    answer.on('error', () => response.destroy());
  });
  onward.on('error', () => {
    if (response.headersSent) response.destroy();
    else response.writeHead(502, { 'content-type': 'text/plain' }).end('Curbcut is starting or stopping.\n');
  });
  // A stream of events ends when its reader leaves.
  response.on('close', () => onward.destroy());
  request.pipe(onward);
}
