import { createHash } from 'node:crypto';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import {
  DeleteObjectCommand,
  DeleteObjectsCommand,
  GetObjectCommand,
  HeadBucketCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  S3Client,
  type S3ClientConfig,
} from '@aws-sdk/client-s3';
import { getSignedUrl } from '@aws-sdk/s3-request-presigner';
import { expect } from 'chai';
import { startObjects, type Objects } from '../../local/objects/objects.ts';

const credentials = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'a-secret/with+signs' };
const Bucket = 'curbcut';

describe('the embedded object store', () => {
  let folder: string;
  let objects: Objects;
  let client: S3Client;
  let clockAhead = 0;
  const open: S3Client[] = [];

  const clientWith = (options: S3ClientConfig = {}): S3Client => {
    const made = new S3Client({
      endpoint: objects.endpoint,
      region: 'us-east-1',
      forcePathStyle: true,
      maxAttempts: 1,
      credentials,
      ...options,
    });
    open.push(made);
    return made;
  };
  const start = async (): Promise<void> => {
    objects = await startObjects({
      dataDir: folder,
      bucket: Bucket,
      ...credentials,
      maxObjectBytes: 3_000_000,
      now: () => new Date(Date.now() + clockAhead),
    });
    client = clientWith();
  };
  const put = (Key: string, Body: string | Uint8Array | Readable, more: object = {}) =>
    client.send(new PutObjectCommand({ Bucket, Key, Body, ...more }));
  const text = async (Key: string): Promise<string> => (await client.send(new GetObjectCommand({ Bucket, Key }))).Body!.transformToString();
  /** The code of the store's refusal. */
  const refusal = async (attempt: Promise<unknown>): Promise<string> => {
    try {
      await attempt;
    } catch (error) {
      return (error as Error).name;
    }
    return 'none';
  };
  const code = async (response: Response): Promise<string> =>
    `${response.status} ${/<Code>(\w+)</.exec(await response.text())?.[1] ?? ''}`.trim();

  beforeEach(async () => {
    clockAhead = 0;
    folder = mkdtempSync(join(tmpdir(), 'objects-'));
    await start();
  });

  afterEach(async () => {
    for (const made of open.splice(0)) made.destroy();
    await objects.close();
    rmSync(folder, { recursive: true, force: true });
  });

  describe('with the SDK', () => {
    it('keeps an object with its type and gives it back', async () => {
      const body = 'Grüße, 世界';
      const { ETag } = await put('scans/1/report.json', body, { ContentType: 'application/json', Metadata: { attempt: 'one' } });
      expect(ETag).to.equal(`"${createHash('md5').update(body).digest('hex')}"`);
      const head = await client.send(new HeadObjectCommand({ Bucket, Key: 'scans/1/report.json' }));
      expect(head).to.include({ ContentLength: Buffer.byteLength(body), ContentType: 'application/json', ETag });
      expect(head.Metadata).to.deep.equal({ attempt: 'one' });
      expect(await text('scans/1/report.json')).to.equal(body);
      await client.send(new HeadBucketCommand({ Bucket }));
    });

    it('takes every way in which the SDK sends a body', async () => {
      const bytes = Buffer.alloc(2_500_000, 'x');
      await put('whole', bytes); // larger than 2 MB: asks with "Expect: 100-continue"
      await put('streamed', Readable.from([bytes.subarray(0, 100_000), bytes.subarray(100_000)]), { ContentLength: bytes.length });
      await put('empty', '');
      for (const ChecksumAlgorithm of ['CRC32', 'SHA1', 'SHA256'] as const)
        await put(`sum/${ChecksumAlgorithm}`, 'body', { ChecksumAlgorithm });
      expect(Buffer.from(await text('whole')).equals(bytes)).to.equal(true);
      expect(Buffer.from(await text('streamed')).equals(bytes)).to.equal(true);
      expect(await text('empty')).to.equal('');
      expect(await text('sum/SHA256')).to.equal('body');
    });

    it('says so where it does not know a checksum', async () => {
      const attempt = client.send(new PutObjectCommand({ Bucket, Key: 'a', Body: 'body', ChecksumCRC32C: 'AAAAAA==' }));
      expect(await refusal(attempt)).to.equal('NotImplemented');
      expect(await refusal(text('a'))).to.equal('NoSuchKey');
    });

    it('refuses a body that is not the one whose checksum was given', async () => {
      expect(await refusal(put('a', 'body', { ChecksumCRC32: 'AAAAAA==' }))).to.equal('BadDigest');
      expect(await refusal(put('a', 'body', { ContentMD5: createHash('md5').update('other').digest('base64') }))).to.equal('BadDigest');
      expect(await refusal(text('a'))).to.equal('NoSuchKey');
      expect(readdirSync(join(folder, 'drafts'))).to.deep.equal([]);
    });

    it('gives ranges', async () => {
      await put('a', '0123456789');
      const range = async (Range: string) => {
        const { Body, ContentRange } = await client.send(new GetObjectCommand({ Bucket, Key: 'a', Range }));
        return [await Body!.transformToString(), ContentRange];
      };
      expect(await range('bytes=2-4')).to.deep.equal(['234', 'bytes 2-4/10']);
      expect(await range('bytes=7-')).to.deep.equal(['789', 'bytes 7-9/10']);
      expect(await range('bytes=-2')).to.deep.equal(['89', 'bytes 8-9/10']);
      expect(await range('bytes=5-99')).to.deep.equal(['56789', 'bytes 5-9/10']);
      expect(await refusal(range('bytes=10-'))).to.equal('InvalidRange');
    });

    it('lists by prefix, folded and in pages', async () => {
      for (const key of ['b/2', 'a', 'b/1', 'b/c/3', 'ü & <"\'>.txt']) await put(key, key);
      const all = await client.send(new ListObjectsV2Command({ Bucket }));
      expect(all.Contents!.map(({ Key }) => Key)).to.deep.equal(['a', 'b/1', 'b/2', 'b/c/3', 'ü & <"\'>.txt']);
      expect(all.Contents![1]).to.include({ Size: 3, ETag: `"${createHash('md5').update('b/1').digest('hex')}"` });
      const folded = await client.send(new ListObjectsV2Command({ Bucket, Prefix: 'b/', Delimiter: '/' }));
      expect(folded.Contents!.map(({ Key }) => Key)).to.deep.equal(['b/1', 'b/2']);
      expect(folded.CommonPrefixes).to.deep.equal([{ Prefix: 'b/c/' }]);
      const pages: string[][] = [];
      for (let ContinuationToken: string | undefined; ;) {
        const page = await client.send(new ListObjectsV2Command({ Bucket, MaxKeys: 2, Delimiter: '/', ContinuationToken }));
        pages.push([...(page.Contents ?? []).map(({ Key }) => Key!), ...(page.CommonPrefixes ?? []).map(({ Prefix }) => Prefix!)]);
        if (!page.IsTruncated) break;
        ContinuationToken = page.NextContinuationToken;
      }
      expect(pages).to.deep.equal([['a', 'b/'], ['ü & <"\'>.txt']]);
    });

    it('deletes one and many, and what is not there', async () => {
      for (const key of ['a', 'b & <c>', 'd']) await put(key, key);
      await client.send(new DeleteObjectCommand({ Bucket, Key: 'a' }));
      await client.send(new DeleteObjectCommand({ Bucket, Key: 'a' }));
      const { Deleted } = await client.send(
        new DeleteObjectsCommand({ Bucket, Delete: { Objects: [{ Key: 'b & <c>' }, { Key: 'none' }] } }),
      );
      expect(Deleted).to.deep.equal([{ Key: 'b & <c>' }, { Key: 'none' }]);
      expect((await client.send(new ListObjectsV2Command({ Bucket }))).Contents!.map(({ Key }) => Key)).to.deep.equal(['d']);
    });

    it('keeps its objects over a restart, and forgets half an upload', async () => {
      await put('kept', 'content', { ContentType: 'text/plain' });
      const { port, hostname } = new URL(objects.endpoint);
      const url = new URL(await getSignedUrl(client, new PutObjectCommand({ Bucket, Key: 'half' }), { expiresIn: 60 }));
      const socket = connect(Number(port), hostname);
      socket.write(`PUT ${url.pathname}${url.search} HTTP/1.1\r\nHost: ${url.host}\r\nContent-Length: 1000\r\n\r\nonly this`);
      while (readdirSync(join(folder, 'drafts')).length === 0) await new Promise((resolve) => setImmediate(resolve));
      await objects.close();
      socket.destroy();
      await start();
      expect(await text('kept')).to.equal('content');
      expect(await refusal(text('half'))).to.equal('NoSuchKey');
      expect(readdirSync(join(folder, 'drafts'))).to.deep.equal([]);
    });

    it('replaces an object without harm to who is reading it', async () => {
      await put('a', 'first');
      const { Body } = await client.send(new GetObjectCommand({ Bucket, Key: 'a' }));
      await put('a', 'second, and longer');
      expect(await Body!.transformToString()).to.equal('first');
      expect(await text('a')).to.equal('second, and longer');
    });

    it('takes nothing that is too large, announced or not', async () => {
      expect(await refusal(put('a', Buffer.alloc(3_000_001)))).to.equal('EntityTooLarge');
      expect(await refusal(text('a'))).to.equal('NoSuchKey');
    });

    it('keeps every key inside its folder', async () => {
      for (const key of ['../../escape', '/absolute', 'a/../b', 'nul\u0000byte', '.', '..%2f..%2fencoded']) {
        await put(key, key);
        expect(await text(key)).to.equal(key);
      }
      expect(readdirSync(folder).sort()).to.deep.equal(['drafts', 'objects']);
      expect(readdirSync(join(folder, 'objects')).every((name) => /^[0-9a-f]{64}$/.test(name))).to.equal(true);
    });

    it('knows one bucket', async () => {
      expect(await refusal(client.send(new GetObjectCommand({ Bucket: 'other', Key: 'a' })))).to.equal('NoSuchBucket');
      expect(await refusal(client.send(new HeadBucketCommand({ Bucket: 'other' })))).to.equal('NotFound');
    });
  });

  describe('with signatures in headers', () => {
    it('refuses a wrong secret, a wrong key and a clock that is off', async () => {
      const send = (made: S3Client) => refusal(made.send(new GetObjectCommand({ Bucket, Key: 'a' })));
      expect(await send(clientWith({ credentials: { ...credentials, secretAccessKey: 'other' } }))).to.equal('SignatureDoesNotMatch');
      expect(await send(clientWith({ credentials: { ...credentials, accessKeyId: 'other' } }))).to.equal('InvalidAccessKeyId');
      clockAhead = 16 * 60_000;
      expect(await send(clientWith())).to.equal('RequestTimeTooSkewed');
    });

    it('refuses a request without a signature', async () => {
      expect(await code(await fetch(`${objects.endpoint}/${Bucket}/a`))).to.equal('403 AccessDenied');
      expect(
        await code(await fetch(`${objects.endpoint}/${Bucket}/a`, { headers: { authorization: 'AWS4-HMAC-SHA256 nonsense' } })),
      ).to.equal('400 AuthorizationHeaderMalformed');
    });

    it('refuses a body or a header that was changed on the way', async () => {
      for (const [change, wanted] of [
        [(request: { body: unknown }) => void (request.body = 'evil'), 'XAmzContentSHA256Mismatch'],
        [(request: { headers: Record<string, string> }) => void (request.headers['content-type'] = 'text/html'), 'SignatureDoesNotMatch'],
        [(request: { headers: Record<string, string> }) => void (request.headers['x-amz-meta-a'] = 'b'), 'AccessDenied'],
        [(request: { path: string }) => void (request.path = `/${Bucket}/other`), 'SignatureDoesNotMatch'],
      ] as [(request: never) => void, string][]) {
        const made = clientWith({ requestChecksumCalculation: 'WHEN_REQUIRED' });
        made.middlewareStack.add(
          (next) => (args) => {
            change(args.request as never);
            return next(args);
          },
          { step: 'finalizeRequest', priority: 'low', name: 'tamper' },
        );
        expect(await refusal(made.send(new PutObjectCommand({ Bucket, Key: 'a', Body: 'good', ContentType: 'text/plain' })))).to.equal(
          wanted,
        );
      }
      expect((await client.send(new ListObjectsV2Command({ Bucket }))).KeyCount).to.equal(0);
    });
  });

  describe('with presigned URLs', () => {
    const uploadLink = (expiresIn = 60) =>
      getSignedUrl(client, new PutObjectCommand({ Bucket, Key: 'scans/1/report.json', ContentType: 'application/json' }), {
        expiresIn,
        signableHeaders: new Set(['host', 'content-type']),
      });
    const upload = (url: string, headers: Record<string, string> = { 'content-type': 'application/json' }) =>
      fetch(url, { method: 'PUT', body: '{}', headers });

    beforeEach(() => {
      client = clientWith({ requestChecksumCalculation: 'WHEN_REQUIRED', responseChecksumValidation: 'WHEN_REQUIRED' });
    });

    it('takes the one object, of the signed type', async () => {
      const url = await uploadLink();
      expect((await upload(url)).status).to.equal(200);
      expect(await text('scans/1/report.json')).to.equal('{}');
      expect(await code(await upload(url, { 'content-type': 'text/html' }))).to.equal('403 SignatureDoesNotMatch');
      expect(await code(await upload(url, { 'content-type': 'application/json', 'x-amz-meta-a': 'b' }))).to.equal('403 AccessDenied');
    });

    it('refuses every URL that is not just the signed one', async () => {
      const url = await uploadLink();
      const changed = (change: (url: URL) => void): string => {
        const copy = new URL(url);
        change(copy);
        return copy.href;
      };
      const signature = new URL(url).searchParams.get('X-Amz-Signature')!;
      const flipped = (signature[0] === '0' ? '1' : '0') + signature.slice(1);
      for (const [target, wanted] of [
        [changed((copy) => copy.searchParams.set('X-Amz-Signature', flipped)), '403 SignatureDoesNotMatch'],
        [changed((copy) => copy.searchParams.set('X-Amz-Signature', 'zz')), '403 SignatureDoesNotMatch'],
        [changed((copy) => copy.searchParams.delete('X-Amz-Signature')), '400 AuthorizationQueryParametersError'],
        [changed((copy) => copy.searchParams.append('X-Amz-Signature', signature)), '400 AuthorizationQueryParametersError'],
        [changed((copy) => copy.searchParams.set('X-Amz-Expires', '600')), '403 SignatureDoesNotMatch'],
        [changed((copy) => copy.searchParams.set('X-Amz-Expires', '604801')), '400 AuthorizationQueryParametersError'],
        [changed((copy) => copy.searchParams.set('X-Amz-SignedHeaders', 'host')), '403 SignatureDoesNotMatch'],
        [changed((copy) => copy.searchParams.set('X-Amz-SignedHeaders', 'content-type')), '403 AccessDenied'],
        [changed((copy) => copy.searchParams.set('extra', '1')), '403 SignatureDoesNotMatch'],
        [changed((copy) => void (copy.pathname = `/${Bucket}/scans/2/report.json`)), '403 SignatureDoesNotMatch'],
      ] as const)
        expect(await code(await upload(target)), target).to.equal(wanted);
      const read = await fetch(url, { headers: { 'content-type': 'application/json' } });
      expect(await code(read)).to.equal('403 SignatureDoesNotMatch');
    });

    it('refuses a URL after its time, and long before', async () => {
      const url = await uploadLink(60);
      clockAhead = 61_000;
      expect(await code(await upload(url))).to.equal('403 AccessDenied');
      clockAhead = -16 * 60_000;
      expect(await code(await upload(url))).to.equal('403 AccessDenied');
      clockAhead = 58_000;
      expect((await upload(url)).status).to.equal(200);
    });

    it('names the file for who saves it, as the signed query says', async () => {
      await put('a', 'content');
      const disposition = `attachment; filename="report ü.pdf"; filename*=UTF-8''report%20%C3%BC.pdf`;
      const url = await getSignedUrl(
        client,
        new GetObjectCommand({ Bucket, Key: 'a', ResponseContentDisposition: disposition, ResponseContentType: 'application/pdf' }),
      );
      const response = await fetch(url);
      expect(response.headers.get('content-type')).to.equal('application/pdf');
      expect(Buffer.from(response.headers.get('content-disposition')!, 'latin1').toString('latin1')).to.equal(disposition);
      expect(await response.text()).to.equal('content');
      const cached = await fetch(url, { headers: { 'if-none-match': response.headers.get('etag')! } });
      expect(cached.status).to.equal(304);
    });

    it('refuses what it does not do, rather than doing something else', async () => {
      const url = await getSignedUrl(client, new GetObjectCommand({ Bucket, Key: 'a', VersionId: '1' }));
      expect(await code(await fetch(url))).to.equal('501 NotImplemented');
    });
  });

  it('lets no second process use its folder', async () => {
    const second = startObjects({ dataDir: folder, bucket: Bucket, ...credentials });
    expect(
      await second.then(
        () => 'started',
        (error: Error) => error.message,
      ),
    ).to.contain('in use by another process');
  });
});
