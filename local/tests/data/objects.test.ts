import { createHash } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import {
  CopyObjectCommand,
  DeleteObjectCommand,
  DeleteObjectsCommand,
  GetObjectCommand,
  HeadBucketCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
} from '@aws-sdk/client-s3';
import { getSignedUrl } from '@aws-sdk/s3-request-presigner';
import { expect } from 'chai';
import { startObjects } from '../../objects/objects.ts';
import { Bucket, credentials, objectStore } from './object-store.ts';

describe('the embedded object store, with the SDK', () => {
  const store = objectStore();

  it('keeps an object with its type and gives it back', async () => {
    const body = 'Grüße, 世界';
    const { ETag } = await store.put('scans/1/report.json', body, { ContentType: 'application/json', Metadata: { attempt: 'one' } });
    expect(ETag).to.equal(`"${createHash('md5').update(body).digest('hex')}"`);
    const head = await store.client.send(new HeadObjectCommand({ Bucket, Key: 'scans/1/report.json' }));
    expect(head).to.include({ ContentLength: Buffer.byteLength(body), ContentType: 'application/json', ETag });
    expect(head.Metadata).to.deep.equal({ attempt: 'one' });
    expect(await store.text('scans/1/report.json')).to.equal(body);
    await store.client.send(new HeadBucketCommand({ Bucket }));
  });

  it('takes every way in which the SDK sends a body', async () => {
    const bytes = Buffer.alloc(2_500_000, 'x');
    await store.put('whole', bytes); // larger than 2 MB: asks with "Expect: 100-continue"
    await store.put('streamed', Readable.from([bytes.subarray(0, 100_000), bytes.subarray(100_000)]), { ContentLength: bytes.length });
    await store.put('empty', '');
    for (const ChecksumAlgorithm of ['CRC32', 'SHA1', 'SHA256'] as const)
      await store.put(`sum/${ChecksumAlgorithm}`, 'body', { ChecksumAlgorithm });
    expect(Buffer.from(await store.text('whole')).equals(bytes)).to.equal(true);
    expect(Buffer.from(await store.text('streamed')).equals(bytes)).to.equal(true);
    expect(await store.text('empty')).to.equal('');
    expect(await store.text('sum/SHA256')).to.equal('body');
  });

  it('says so where it does not know a checksum', async () => {
    const attempt = store.client.send(new PutObjectCommand({ Bucket, Key: 'a', Body: 'body', ChecksumCRC32C: 'AAAAAA==' }));
    expect(await store.refusal(attempt)).to.equal('NotImplemented');
    expect(await store.refusal(store.text('a'))).to.equal('NoSuchKey');
  });

  it('refuses a body that is not the one whose checksum was given', async () => {
    expect(await store.refusal(store.put('a', 'body', { ChecksumCRC32: 'AAAAAA==' }))).to.equal('BadDigest');
    expect(await store.refusal(store.put('a', 'body', { ContentMD5: createHash('md5').update('other').digest('base64') }))).to.equal(
      'BadDigest',
    );
    expect(await store.refusal(store.text('a'))).to.equal('NoSuchKey');
    expect(readdirSync(join(store.folder, 'drafts'))).to.deep.equal([]);
  });

  it('gives ranges', async () => {
    await store.put('a', '0123456789');
    const range = async (Range: string) => {
      const { Body, ContentRange } = await store.client.send(new GetObjectCommand({ Bucket, Key: 'a', Range }));
      return [await Body!.transformToString(), ContentRange];
    };
    expect(await range('bytes=2-4')).to.deep.equal(['234', 'bytes 2-4/10']);
    expect(await range('bytes=7-')).to.deep.equal(['789', 'bytes 7-9/10']);
    expect(await range('bytes=-2')).to.deep.equal(['89', 'bytes 8-9/10']);
    expect(await range('bytes=5-99')).to.deep.equal(['56789', 'bytes 5-9/10']);
    expect(await store.refusal(range('bytes=10-'))).to.equal('InvalidRange');
  });

  it('lists by prefix, folded and in pages', async () => {
    for (const key of ['b/2', 'a', 'b/1', 'b/c/3', 'ü & <"\'>.txt']) await store.put(key, key);
    const all = await store.client.send(new ListObjectsV2Command({ Bucket }));
    expect(all.Contents!.map(({ Key }) => Key)).to.deep.equal(['a', 'b/1', 'b/2', 'b/c/3', 'ü & <"\'>.txt']);
    expect(all.Contents![1]).to.include({ Size: 3, ETag: `"${createHash('md5').update('b/1').digest('hex')}"` });
    const folded = await store.client.send(new ListObjectsV2Command({ Bucket, Prefix: 'b/', Delimiter: '/' }));
    expect(folded.Contents!.map(({ Key }) => Key)).to.deep.equal(['b/1', 'b/2']);
    expect(folded.CommonPrefixes).to.deep.equal([{ Prefix: 'b/c/' }]);
    const pages: string[][] = [];
    for (let ContinuationToken: string | undefined; ;) {
      const page = await store.client.send(new ListObjectsV2Command({ Bucket, MaxKeys: 2, Delimiter: '/', ContinuationToken }));
      pages.push([...(page.Contents ?? []).map(({ Key }) => Key!), ...(page.CommonPrefixes ?? []).map(({ Prefix }) => Prefix!)]);
      if (!page.IsTruncated) break;
      ContinuationToken = page.NextContinuationToken;
    }
    expect(pages).to.deep.equal([['a', 'b/'], ['ü & <"\'>.txt']]);
  });

  it('deletes one and many, and what is not there', async () => {
    for (const key of ['a', 'b & <c>', 'd']) await store.put(key, key);
    await store.client.send(new DeleteObjectCommand({ Bucket, Key: 'a' }));
    await store.client.send(new DeleteObjectCommand({ Bucket, Key: 'a' }));
    const { Deleted } = await store.client.send(
      new DeleteObjectsCommand({ Bucket, Delete: { Objects: [{ Key: 'b & <c>' }, { Key: 'none' }] } }),
    );
    expect(Deleted).to.deep.equal([{ Key: 'b & <c>' }, { Key: 'none' }]);
    expect((await store.client.send(new ListObjectsV2Command({ Bucket }))).Contents!.map(({ Key }) => Key)).to.deep.equal(['d']);
  });

  describe('copies an object', () => {
    const CopySource = `${Bucket}/from/${encodeURIComponent('ü &.json')}`;
    const put = () => store.put('from/ü &.json', 'content', { ContentType: 'application/json', ContentEncoding: 'gzip' });
    const copy = (more: object = {}) => store.client.send(new CopyObjectCommand({ Bucket, Key: 'to', CopySource, ...more }));
    const head = () => store.client.send(new HeadObjectCommand({ Bucket, Key: 'to' }));

    it('with its type and headers', async () => {
      const { ETag } = await put();
      expect((await copy({ CopySourceIfMatch: ETag })).CopyObjectResult).to.include({ ETag });
      expect(await head()).to.include({ ETag, ContentType: 'application/json', ContentEncoding: 'gzip', ContentLength: 7 });
      expect(await store.text('from/ü &.json')).to.equal('content');
    });

    it('with the given type and no other headers, if they are to be replaced', async () => {
      await put();
      await copy({ MetadataDirective: 'REPLACE', ContentType: 'text/plain' });
      expect(await head())
        .to.include({ ContentType: 'text/plain' })
        .and.not.have.property('ContentEncoding');
    });

    it('also if it is empty', async () => {
      await store.put('from/ü &.json', '');
      await copy();
      expect(await head()).to.include({ ContentLength: 0 });
    });

    it('only if it is the one that was read', async () => {
      const { ETag } = await put();
      await store.put('from/ü &.json', 'changed');
      expect(await store.refusal(copy({ CopySourceIfMatch: ETag }))).to.equal('PreconditionFailed');
      expect(await store.refusal(head())).to.equal('NotFound');
      expect(readdirSync(join(store.folder, 'drafts'))).to.deep.equal([]);
    });

    it('only if there is one, in this bucket', async () => {
      expect(await store.refusal(copy())).to.equal('NoSuchKey');
      expect(await store.refusal(copy({ CopySource: 'other/key' }))).to.equal('NoSuchBucket');
      expect(await store.refusal(copy({ CopySource: Bucket }))).to.equal('InvalidArgument');
    });

    it('by no condition that it does not know', async () => {
      await put();
      expect(await store.refusal(copy({ CopySourceIfNoneMatch: '"x"' }))).to.equal('NotImplemented');
    });
  });

  it('keeps its objects over a restart, and forgets half an upload', async () => {
    await store.put('kept', 'content', { ContentType: 'text/plain' });
    const { port, hostname } = new URL(store.objects.endpoint);
    const url = new URL(await getSignedUrl(store.client, new PutObjectCommand({ Bucket, Key: 'half' }), { expiresIn: 60 }));
    const socket = connect(Number(port), hostname);
    socket.write(`PUT ${url.pathname}${url.search} HTTP/1.1\r\nHost: ${url.host}\r\nContent-Length: 1000\r\n\r\nonly this`);
    while (readdirSync(join(store.folder, 'drafts')).length === 0) await new Promise((resolve) => setImmediate(resolve));
    await store.objects.close();
    socket.destroy();
    await store.start();
    expect(await store.text('kept')).to.equal('content');
    expect(await store.refusal(store.text('half'))).to.equal('NoSuchKey');
    expect(readdirSync(join(store.folder, 'drafts'))).to.deep.equal([]);
  });

  it('replaces an object without harm to who is reading it', async () => {
    await store.put('a', 'first');
    const { Body } = await store.client.send(new GetObjectCommand({ Bucket, Key: 'a' }));
    await store.put('a', 'second, and longer');
    expect(await Body!.transformToString()).to.equal('first');
    expect(await store.text('a')).to.equal('second, and longer');
  });

  it('takes nothing that is too large, announced or not', async () => {
    expect(await store.refusal(store.put('a', Buffer.alloc(3_000_001)))).to.equal('EntityTooLarge');
    expect(await store.refusal(store.text('a'))).to.equal('NoSuchKey');
  });

  it('keeps every key inside its folder', async () => {
    for (const key of ['../../escape', '/absolute', 'a/../b', 'nul\u0000byte', '.', '..%2f..%2fencoded']) {
      await store.put(key, key);
      expect(await store.text(key)).to.equal(key);
    }
    expect(readdirSync(store.folder).sort()).to.deep.equal(['drafts', 'objects']);
    expect(readdirSync(join(store.folder, 'objects')).every((name) => /^[0-9a-f]{64}$/.test(name))).to.equal(true);
  });

  it('knows one bucket', async () => {
    expect(await store.refusal(store.client.send(new GetObjectCommand({ Bucket: 'other', Key: 'a' })))).to.equal('NoSuchBucket');
    expect(await store.refusal(store.client.send(new HeadBucketCommand({ Bucket: 'other' })))).to.equal('NotFound');
  });

  it('lets no second process use its folder', async () => {
    const second = startObjects({ dataDir: store.folder, bucket: Bucket, ...credentials });
    expect(
      await second.then(
        () => 'started',
        (error: Error) => error.message,
      ),
    ).to.contain('in use by another process');
  });
});
