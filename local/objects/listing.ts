/** ListObjectsV2: keys by prefix, grouped at a delimiter, in pages. */
import { S3Error } from './errors.ts';
import type { Storage } from './storage.ts';
import { document, type Content } from './xml.ts';

const MAX_KEYS = 1000;

/** The XML response to a list request. @throws S3Error if a parameter is invalid */
export function listObjects(bucket: string, query: ReadonlyMap<string, string>, storage: Storage): string {
  const prefix = query.get('prefix') ?? '';
  const delimiter = query.get('delimiter') ?? '';
  const requested = query.get('max-keys') ?? String(MAX_KEYS);
  if (!/^\d{1,9}$/.test(requested)) throw new S3Error('InvalidArgument', `max-keys must be a number, not ${requested}.`);
  const limit = Math.min(Number(requested), MAX_KEYS);
  const encoding = query.get('encoding-type');
  if (encoding !== undefined && encoding !== 'url') throw new S3Error('InvalidArgument', `encoding-type must be url, not ${encoding}.`);
  const shown = (text: string): string => (encoding === 'url' ? encodeURIComponent(text).replaceAll('%2F', '/') : text);
  const token = query.get('continuation-token');
  const after = token === undefined ? (query.get('start-after') ?? '') : Buffer.from(token, 'base64url').toString();

  const objects: Content[] = [];
  const prefixes: string[] = [];
  let last = '';
  let truncated = false;
  for (const object of storage.list(prefix)) {
    const cut = delimiter === '' ? -1 : object.key.indexOf(delimiter, prefix.length);
    const entry = cut === -1 ? object.key : object.key.slice(0, cut + delimiter.length);
    if (Buffer.compare(Buffer.from(entry), Buffer.from(after)) <= 0 || entry === prefixes.at(-1)) continue;
    if (objects.length + prefixes.length >= limit) {
      truncated = limit > 0;
      break;
    }
    last = entry;
    if (cut !== -1) prefixes.push(entry);
    else
      objects.push({
        Key: shown(object.key),
        LastModified: new Date(object.modified).toISOString(),
        ETag: `"${object.md5}"`,
        Size: object.size,
        StorageClass: 'STANDARD',
      });
  }
  return document('ListBucketResult', {
    Name: bucket,
    Prefix: shown(prefix),
    ...(delimiter === '' ? {} : { Delimiter: shown(delimiter) }),
    ...(encoding === undefined ? {} : { EncodingType: encoding }),
    ...(token === undefined ? {} : { ContinuationToken: token }),
    ...(query.has('start-after') ? { StartAfter: shown(query.get('start-after')!) } : {}),
    MaxKeys: limit,
    KeyCount: objects.length + prefixes.length,
    IsTruncated: truncated,
    ...(truncated ? { NextContinuationToken: Buffer.from(last).toString('base64url') } : {}),
    Contents: objects,
    CommonPrefixes: prefixes.map((entry) => ({ Prefix: shown(entry) })),
  });
}
