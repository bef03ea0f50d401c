/** Serves a folder of test cases on loopback, at the paths that the cases refer to. */
import { statSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { extname, join, normalize, sep } from 'node:path';
import type { CaseFolder, TestCase } from './cases.ts';

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.xhtml': 'application/xhtml+xml',
  '.xml': 'application/xml',
  '.svg': 'image/svg+xml',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json',
  '.txt': 'text/plain; charset=utf-8',
  '.vtt': 'text/vtt; charset=utf-8',
  '.png': 'image/png',
  '.jpg': 'image/jpeg',
  '.jpeg': 'image/jpeg',
  '.jfif': 'image/jpeg',
  '.mp3': 'audio/mpeg',
  '.mp4': 'video/mp4',
  '.webm': 'video/webm',
};

export interface CaseServer {
  urlOf(testCase: TestCase): URL;
  /** Paths below the folder that pages requested and the folder does not have. */
  missing: ReadonlySet<string>;
  close(): Promise<void>;
}

export async function serveCases({ folder, basePath }: Pick<CaseFolder, 'folder' | 'basePath'>): Promise<CaseServer> {
  const missing = new Set<string>();
  const server = createServer((request, response) => {
    const path = pathIn(request.url ?? '/', basePath);
    if (path !== null && !path.endsWith('/') && isFolder(join(folder, path))) {
      response.writeHead(301, { location: `${basePath}${path}/` }).end();
      return;
    }
    const file = path === null || path.endsWith('/') ? `${path}index.html` : path;
    (path === null ? Promise.reject(new Error('outside of the folder')) : readFile(join(folder, file))).then(
      (body) => response.writeHead(200, { 'content-type': TYPES[extname(file)] ?? 'application/octet-stream' }).end(body),
      () => {
        if (path !== null) missing.add(path);
        response.writeHead(404, { 'content-type': 'text/plain' }).end('Not found');
      },
    );
  });
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    urlOf: ({ relativePath }) => new URL(`${basePath}${relativePath}`, `http://127.0.0.1:${port}`),
    missing,
    async close() {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}

const isFolder = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;

/** The path in the folder; null if it is outside, so that no other file of the machine is served. */
function pathIn(url: string, basePath: string): string | null {
  try {
    const path = decodeURIComponent(new URL(url, 'http://cases').pathname);
    const inside = normalize(path.slice(basePath.length));
    return path.startsWith(basePath) && inside !== '..' && !inside.startsWith(`..${sep}`) ? inside : null;
  } catch {
    return null;
  }
}
