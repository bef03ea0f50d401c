/** CopyObject: copies an object within the bucket, optionally only if the source has a given ETag. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { S3Error } from './errors.ts';
import type { Storage } from './storage.ts';
import { decodePercent } from './signature.ts';
import { keptHeaders } from './upload.ts';
import { document } from './xml.ts';

const UNSUPPORTED_HEADERS = [
  'x-amz-copy-source-if-none-match',
  'x-amz-copy-source-if-modified-since',
  'x-amz-copy-source-if-unmodified-since',
  'x-amz-tagging-directive',
  'x-amz-server-side-encryption-customer-key',
];

/** Handles a PUT with `x-amz-copy-source`. @throws S3Error */
export async function copyObject(
  request: IncomingMessage,
  response: ServerResponse,
  key: string,
  { bucket, storage, now }: { bucket: string; storage: Storage; now: () => Date },
): Promise<void> {
  const text = (name: string): string | undefined => request.headers[name] as string | undefined;
  for (const name of UNSUPPORTED_HEADERS)
    if (text(name) !== undefined) throw new S3Error('NotImplemented', `The header ${name} is not supported by the embedded object store.`);
  if (text('x-amz-metadata-directive') !== 'REPLACE')
    throw new S3Error('NotImplemented', 'The embedded object store copies only with the metadata directive REPLACE.');
  const source = sourceKey(text('x-amz-copy-source')!, bucket);
  const opened = await storage.read(source);
  if (opened === null) throw new S3Error('NoSuchKey', 'The specified key does not exist.', { Key: source });
  const { object, file } = opened;
  try {
    const wanted = text('x-amz-copy-source-if-match');
    if (wanted !== undefined && wanted.replaceAll('"', '') !== object.md5)
      throw new S3Error('PreconditionFailed', 'At least one of the pre-conditions you specified did not hold', {
        Condition: 'x-amz-copy-source-If-Match',
      });
    const draft = await storage.begin(key);
    try {
      if (object.size > 0)
        for await (const bytes of file.createReadStream({ start: 0, end: object.size - 1, autoClose: false }))
          await draft.write(bytes as Buffer);
      const copy = await draft.commit({
        md5: object.md5,
        contentType: text('content-type') ?? 'binary/octet-stream',
        headers: keptHeaders(request),
        modified: now().getTime(),
      });
      const result = document('CopyObjectResult', { LastModified: new Date(copy.modified).toISOString(), ETag: `"${copy.md5}"` });
      response.writeHead(200, { 'content-type': 'application/xml', 'content-length': Buffer.byteLength(result) }).end(result);
    } finally {
      await draft.discard();
    }
  } finally {
    await file.close();
  }
}

/** The key in a percent-encoded `bucket/key` or `/bucket/key`. @throws S3Error if it names another bucket */
function sourceKey(header: string, bucket: string): string {
  const [from = '', ...rest] = decodePercent(header).replace(/^\//, '').split('/');
  const key = rest.join('/');
  if (key === '' || key.includes('?versionId='))
    throw new S3Error('InvalidArgument', 'Copy Source must mention the source bucket and key.');
  if (from !== bucket) throw new S3Error('NoSuchBucket', 'The specified bucket does not exist.', { BucketName: from });
  return key;
}
