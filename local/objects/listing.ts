/** ListObjectsV2: keys by prefix, folded at a delimiter, in pages. */
import { Refusal } from './errors.ts';
import type { Shelf } from './shelf.ts';
import { document, type Content } from './xml.ts';

const MAX_KEYS = 1000;

/** The XML answer to a list request. @throws Refusal where a parameter is not valid */
export function listObjects(bucket: string, query: ReadonlyMap<string, string>, shelf: Shelf): string {
  const prefix = query.get('prefix') ?? '';
  const delimiter = query.get('delimiter') ?? '';
  const asked = query.get('max-keys') ?? String(MAX_KEYS);
  if (!/^\d{1,9}$/.test(asked)) throw new Refusal('InvalidArgument', `max-keys must be a number, not ${asked}.`);
  const limit = Math.min(Number(asked), MAX_KEYS);
  const encoding = query.get('encoding-type');
  if (encoding !== undefined && encoding !== 'url') throw new Refusal('InvalidArgument', `encoding-type must be url, not ${encoding}.`);
  const shown = (text: string): string => (encoding === 'url' ? encodeURIComponent(text).replaceAll('%2F', '/') : text);
  const token = query.get('continuation-token');
  const after = token === undefined ? (query.get('start-after') ?? '') : Buffer.from(token, 'base64url').toString();

  const objects: Content[] = [];
  const folded: string[] = [];
  let last = '';
  let truncated = false;
  for (const object of shelf.list(prefix)) {
    const cut = delimiter === '' ? -1 : object.key.indexOf(delimiter, prefix.length);
    const entry = cut === -1 ? object.key : object.key.slice(0, cut + delimiter.length);
    if (Buffer.compare(Buffer.from(entry), Buffer.from(after)) <= 0 || entry === folded.at(-1)) continue;
    if (objects.length + folded.length >= limit) {
      truncated = limit > 0;
      break;
    }
    last = entry;
    if (cut !== -1) folded.push(entry);
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
    KeyCount: objects.length + folded.length,
    IsTruncated: truncated,
    ...(truncated ? { NextContinuationToken: Buffer.from(last).toString('base64url') } : {}),
    Contents: objects,
    CommonPrefixes: folded.map((entry) => ({ Prefix: shown(entry) })),
  });
}
