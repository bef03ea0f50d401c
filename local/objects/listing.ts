/** ListObjectsV2: keys by prefix, in pages. */
import { S3Error } from './errors.ts';
import type { Storage } from './storage.ts';
import { document } from './xml.ts';

const MAX_KEYS = 1000;

/** The XML response to a list request. @throws S3Error if a parameter is invalid */
export function listObjects(bucket: string, query: ReadonlyMap<string, string>, storage: Storage): string {
  const prefix = query.get('prefix') ?? '';
  const requested = query.get('max-keys') ?? String(MAX_KEYS);
  if (!/^[1-9]\d{0,8}$/.test(requested)) throw new S3Error('InvalidArgument', `max-keys must be a positive number, not ${requested}.`);
  const limit = Math.min(Number(requested), MAX_KEYS);
  const token = query.get('continuation-token') ?? '';
  const after = Buffer.from(token, 'base64url');
  const left = storage.list(prefix).filter(({ key }) => Buffer.compare(Buffer.from(key), after) > 0);
  const page = left.slice(0, limit);
  return document('ListBucketResult', {
    Name: bucket,
    Prefix: prefix,
    ...(token !== '' && { ContinuationToken: token }),
    MaxKeys: limit,
    KeyCount: page.length,
    IsTruncated: left.length > limit,
    ...(left.length > limit && { NextContinuationToken: Buffer.from(page.at(-1)!.key).toString('base64url') }),
    Contents: page.map(({ key, modified, md5, size }) => ({
      Key: key,
      LastModified: new Date(modified).toISOString(),
      ETag: `"${md5}"`,
      Size: size,
      StorageClass: 'STANDARD',
    })),
  });
}
