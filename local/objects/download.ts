/** GetObject and HeadObject: the whole object or a range, with the response headers that a signed query sets. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { S3Error } from './errors.ts';
import type { Storage, StoredObject } from './storage.ts';

/** Handles GET and HEAD of an object. @throws S3Error */
export async function getObject(
  request: IncomingMessage,
  response: ServerResponse,
  key: string,
  query: [string, string][],
  storage: Storage,
): Promise<void> {
  const opened = await storage.read(key);
  if (opened === null) throw new S3Error('NoSuchKey', 'The specified key does not exist.', { Key: key });
  const { object, file } = opened;
  try {
    const headers = headersOf(object, query);
    const range = rangeOf(request.headers.range, object.size);
    const [start, end] = range ?? [0, object.size - 1];
    response.writeHead(range === null ? 200 : 206, {
      ...headers,
      'content-length': end - start + 1,
      ...(range === null ? {} : { 'content-range': `bytes ${start}-${end}/${object.size}` }),
    });
    if (request.method === 'HEAD' || end < start) response.end();
    else await pipeline(file.createReadStream({ start, end, autoClose: false }), response);
  } finally {
    await file.close();
  }
}

function headersOf(object: StoredObject, query: [string, string][]): Record<string, string> {
  const headers: Record<string, string> = {
    'accept-ranges': 'bytes',
    'content-type': object.contentType,
    etag: `"${object.md5}"`,
    'last-modified': new Date(object.modified).toUTCString(),
    'x-content-type-options': 'nosniff',
    ...object.headers,
  };
  const disposition = new Map(query).get('response-content-disposition');
  if (disposition !== undefined) {
    if (/[^\t\x20-\x7e\x80-\xff]/.test(disposition)) throw new S3Error('InvalidArgument', 'The Content-Disposition cannot be represented.');
    headers['content-disposition'] = disposition;
  }
  return headers;
}

/** The first and last byte of a range such as `bytes=0-99`; null without one. @throws S3Error if the object does not contain it */
function rangeOf(header: string | undefined, size: number): [number, number] | null {
  const [, first, last] = /^bytes=(\d+)-(\d+)$/.exec(header ?? '') ?? [];
  if (first === undefined || Number(last) < Number(first)) return null;
  if (Number(first) >= size)
    throw new S3Error('InvalidRange', 'The requested range is not satisfiable', {
      ActualObjectSize: String(size),
      RangeRequested: header!,
    });
  return [Number(first), Math.min(Number(last), size - 1)];
}
