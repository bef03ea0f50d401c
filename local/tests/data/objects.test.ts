import { createHash } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import {
  CopyObjectCommand,
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

describe('object store with the AWS SDK', () => {
  const store = objectStore();

  it('stores an object with its type and returns it', async () => {
    const body = 'Grüße, 世界';
    const { ETag } = await store.put('scans/1/report.json', body, { ContentType: 'application/json', Metadata: { attempt: 'one' } });
    expect(ETag).to.equal(`"${createHash('md5').update(body).digest('hex')}"`);
    const head = await store.client.send(new HeadObjectCommand({ Bucket, Key: 'scans/1/report.json' }));
    expect(head).to.include({ ContentLength: Buffer.byteLength(body), ContentType: 'application/json', ETag });
    expect(head.Metadata).to.deep.equal({ attempt: 'one' });
    expect(await store.text('scans/1/report.json')).to.equal(body);
    await store.client.send(new HeadBucketCommand({ Bucket }));
  });

  it('stores empty and large bodies', async () => {
    const bytes = Buffer.alloc(2_500_000, 'x');
    await store.put('whole', bytes); // larger than 2 MB: sends "Expect: 100-continue"
    await store.put('empty', '');
    expect(Buffer.from(await store.text('whole')).equals(bytes)).to.equal(true);
    expect(await store.text('empty')).to.equal('');
  });

  it('rejects a checksum, which it would not verify', async () => {
    expect(await store.errorName(store.put('a', 'body', { ChecksumCRC32: 'AAAAAA==' }))).to.equal('NotImplemented');
    expect(await store.errorName(store.text('a'))).to.equal('NoSuchKey');
  });

  it('returns ranges', async () => {
    await store.put('a', '0123456789');
    const range = async (Range: string) => {
      const { Body, ContentRange } = await store.client.send(new GetObjectCommand({ Bucket, Key: 'a', Range }));
      return [await Body!.transformToString(), ContentRange];
    };
    expect(await range('bytes=2-4')).to.deep.equal(['234', 'bytes 2-4/10']);
    expect(await range('bytes=5-99')).to.deep.equal(['56789', 'bytes 5-9/10']);
    expect(await store.errorName(range('bytes=10-11'))).to.equal('InvalidRange');
  });

  it('lists by prefix and in pages', async () => {
    for (const key of ['b/2', 'a', 'b/1', 'b/c/3', 'ü & <"\'>.txt']) await store.put(key, key);
    const all = await store.client.send(new ListObjectsV2Command({ Bucket }));
    expect(all.Contents!.map(({ Key }) => Key)).to.deep.equal(['a', 'b/1', 'b/2', 'b/c/3', 'ü & <"\'>.txt']);
    expect(all.Contents![1]).to.include({ Size: 3, ETag: `"${createHash('md5').update('b/1').digest('hex')}"` });
    const some = await store.client.send(new ListObjectsV2Command({ Bucket, Prefix: 'b/' }));
    expect(some.Contents!.map(({ Key }) => Key)).to.deep.equal(['b/1', 'b/2', 'b/c/3']);
    const pages: string[][] = [];
    for (let ContinuationToken: string | undefined; ;) {
      const page = await store.client.send(new ListObjectsV2Command({ Bucket, MaxKeys: 2, ContinuationToken }));
      pages.push((page.Contents ?? []).map(({ Key }) => Key!));
      if (!page.IsTruncated) break;
      ContinuationToken = page.NextContinuationToken;
    }
    expect(pages).to.deep.equal([['a', 'b/1'], ['b/2', 'b/c/3'], ['ü & <"\'>.txt']]);
  });

  describe('CopyObject', () => {
    const CopySource = `${Bucket}/from/${encodeURIComponent('ü &.json')}`;
    const put = () => store.put('from/ü &.json', 'content', { ContentType: 'application/json', ContentEncoding: 'gzip' });
    const copy = (more: object = {}) =>
      store.client.send(
        new CopyObjectCommand({ Bucket, Key: 'to', CopySource, MetadataDirective: 'REPLACE', ContentType: 'text/plain', ...more }),
      );
    const head = () => store.client.send(new HeadObjectCommand({ Bucket, Key: 'to' }));

    it('replaces the type and headers', async () => {
      const { ETag } = await put();
      expect((await copy({ CopySourceIfMatch: ETag })).CopyObjectResult).to.include({ ETag });
      expect(await head())
        .to.include({ ETag, ContentType: 'text/plain', ContentLength: 7 })
        .and.not.have.property('ContentEncoding');
      expect(await store.text('from/ü &.json')).to.equal('content');
    });

    it('rejects a source with another ETag', async () => {
      const { ETag } = await put();
      await store.put('from/ü &.json', 'changed');
      expect(await store.errorName(copy({ CopySourceIfMatch: ETag }))).to.equal('PreconditionFailed');
      expect(await store.errorName(head())).to.equal('NotFound');
      expect(readdirSync(join(store.folder, 'drafts'))).to.deep.equal([]);
    });

    it('rejects a source that does not exist or is in another bucket', async () => {
      expect(await store.errorName(copy())).to.equal('NoSuchKey');
      expect(await store.errorName(copy({ CopySource: 'other/key' }))).to.equal('NoSuchBucket');
      expect(await store.errorName(copy({ CopySource: Bucket }))).to.equal('InvalidArgument');
    });
  });

  it('keeps objects over a restart and removes interrupted uploads', async () => {
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
    expect(await store.errorName(store.text('half'))).to.equal('NoSuchKey');
    expect(readdirSync(join(store.folder, 'drafts'))).to.deep.equal([]);
  });

  it('does not disturb readers when an object is replaced', async () => {
    await store.put('a', 'first');
    const { Body } = await store.client.send(new GetObjectCommand({ Bucket, Key: 'a' }));
    await store.put('a', 'second, and longer');
    expect(await Body!.transformToString()).to.equal('first');
    expect(await store.text('a')).to.equal('second, and longer');
  });

  it('rejects an object that is too large', async () => {
    expect(await store.errorName(store.put('a', Buffer.alloc(3_000_001)))).to.equal('EntityTooLarge');
    expect(await store.errorName(store.text('a'))).to.equal('NoSuchKey');
  });

  it('keeps every object inside its folder', async () => {
    for (const key of ['../../escape', '/absolute', 'a/../b', 'nul\u0000byte', '.', '..%2f..%2fencoded']) {
      await store.put(key, key);
      expect(await store.text(key)).to.equal(key);
    }
    expect(readdirSync(store.folder).sort()).to.deep.equal(['drafts', 'objects']);
    expect(readdirSync(join(store.folder, 'objects')).every((name) => /^[0-9a-f]{64}$/.test(name))).to.equal(true);
  });

  it('reports other buckets as missing', async () => {
    expect(await store.errorName(store.client.send(new GetObjectCommand({ Bucket: 'other', Key: 'a' })))).to.equal('NoSuchBucket');
    expect(await store.errorName(store.client.send(new HeadBucketCommand({ Bucket: 'other' })))).to.equal('NotFound');
  });

  it('rejects a second process on its folder', async () => {
    const second = startObjects({ dataDir: store.folder, bucket: Bucket, ...credentials });
    expect(
      await second.then(
        () => 'started',
        (error: Error) => error.message,
      ),
    ).to.contain(`(process ${process.pid})`);
  });
});
