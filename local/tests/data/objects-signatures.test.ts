import { GetObjectCommand, ListObjectsV2Command, PutObjectCommand, type S3Client } from '@aws-sdk/client-s3';
import { getSignedUrl } from '@aws-sdk/s3-request-presigner';
import { expect } from 'chai';
import { Bucket, credentials, objectStore } from './object-store.ts';

describe('object store signatures', () => {
  const store = objectStore();

  describe('in headers', () => {
    it('reject a wrong secret, a wrong key and a wrong clock', async () => {
      const send = (made: S3Client) => store.errorName(made.send(new GetObjectCommand({ Bucket, Key: 'a' })));
      expect(await send(store.clientWith({ credentials: { ...credentials, secretAccessKey: 'other' } }))).to.equal('SignatureDoesNotMatch');
      expect(await send(store.clientWith({ credentials: { ...credentials, accessKeyId: 'other' } }))).to.equal('InvalidAccessKeyId');
      store.clockAhead = 16 * 60_000;
      expect(await send(store.clientWith())).to.equal('RequestTimeTooSkewed');
    });

    it('are required', async () => {
      expect(await store.code(await fetch(`${store.objects.endpoint}/${Bucket}/a`))).to.equal('403 AccessDenied');
      expect(
        await store.code(await fetch(`${store.objects.endpoint}/${Bucket}/a`, { headers: { authorization: 'AWS4-HMAC-SHA256 nonsense' } })),
      ).to.equal('400 AuthorizationHeaderMalformed');
    });

    it('reject a body, header or path that was changed in transit', async () => {
      for (const [change, wanted] of [
        [(request: { body: unknown }) => void (request.body = 'evil'), 'XAmzContentSHA256Mismatch'],
        [(request: { headers: Record<string, string> }) => void (request.headers['content-type'] = 'text/html'), 'SignatureDoesNotMatch'],
        [(request: { headers: Record<string, string> }) => void (request.headers['x-amz-meta-a'] = 'b'), 'AccessDenied'],
        [(request: { path: string }) => void (request.path = `/${Bucket}/other`), 'SignatureDoesNotMatch'],
      ] as [(request: never) => void, string][]) {
        const made = store.clientWith();
        made.middlewareStack.add(
          (next) => (args) => {
            change(args.request as never);
            return next(args);
          },
          { step: 'finalizeRequest', priority: 'low', name: 'tamper' },
        );
        expect(
          await store.errorName(made.send(new PutObjectCommand({ Bucket, Key: 'a', Body: 'good', ContentType: 'text/plain' }))),
        ).to.equal(wanted);
      }
      expect((await store.client.send(new ListObjectsV2Command({ Bucket }))).KeyCount).to.equal(0);
    });
  });

  describe('in presigned URLs', () => {
    const uploadLink = (expiresIn = 60) =>
      getSignedUrl(store.client, new PutObjectCommand({ Bucket, Key: 'scans/1/report.json', ContentType: 'application/json' }), {
        expiresIn,
        signableHeaders: new Set(['host', 'content-type']),
      });
    const upload = (url: string, headers: Record<string, string> = { 'content-type': 'application/json' }) =>
      fetch(url, { method: 'PUT', body: '{}', headers });

    it('allow the upload of one object with the signed type', async () => {
      const url = await uploadLink();
      expect((await upload(url)).status).to.equal(200);
      expect(await store.text('scans/1/report.json')).to.equal('{}');
      expect(await store.code(await upload(url, { 'content-type': 'text/html' }))).to.equal('403 SignatureDoesNotMatch');
      expect(await store.code(await upload(url, { 'content-type': 'application/json', 'x-amz-meta-a': 'b' }))).to.equal('403 AccessDenied');
    });

    it('reject a changed URL', async () => {
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
        expect(await store.code(await upload(target)), target).to.equal(wanted);
      const read = await fetch(url, { headers: { 'content-type': 'application/json' } });
      expect(await store.code(read)).to.equal('403 SignatureDoesNotMatch');
    });

    it('reject a URL after its expiry and before its date', async () => {
      const url = await uploadLink(60);
      store.clockAhead = 61_000;
      expect(await store.code(await upload(url))).to.equal('403 AccessDenied');
      store.clockAhead = -16 * 60_000;
      expect(await store.code(await upload(url))).to.equal('403 AccessDenied');
      store.clockAhead = 58_000;
      expect((await upload(url)).status).to.equal(200);
    });

    it('set the file name of a download', async () => {
      await store.put('a', 'content');
      const disposition = `attachment; filename="report ü.pdf"; filename*=UTF-8''report%20%C3%BC.pdf`;
      const url = await getSignedUrl(store.client, new GetObjectCommand({ Bucket, Key: 'a', ResponseContentDisposition: disposition }));
      const response = await fetch(url);
      expect(Buffer.from(response.headers.get('content-disposition')!, 'latin1').toString('latin1')).to.equal(disposition);
      expect(await response.text()).to.equal('content');
    });
  });
});
