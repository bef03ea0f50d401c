/** Report objects on S3-compatible storage: presigned links in and out, and the operator's own look at what a pod stored. */

import {
  DeleteObjectCommand,
  GetObjectCommand,
  HeadBucketCommand,
  HeadObjectCommand,
  PutObjectCommand,
  S3Client,
} from '@aws-sdk/client-s3';
import { getSignedUrl } from '@aws-sdk/s3-request-presigner';

export const EXPORT_NAME = 'report.json';
export const PDF_NAME = 'report.pdf';

/** The keys of a scan's two objects. One pair for each scan: attempts overwrite each other, digests tell which is meant. */
export function reportKeys(scanId: string): { export: string; pdf: string } {
  return { export: `scans/${scanId}/${EXPORT_NAME}`, pdf: `scans/${scanId}/${PDF_NAME}` };
}

export interface Reports {
  /** A URL that takes exactly one object by PUT with the given content type, until `expiresInSeconds` from now. */
  uploadLink(key: string, contentType: string, expiresInSeconds: number): Promise<string>;
  /** A URL that gives the object by GET, and names the file for whoever saves it. */
  downloadLink(key: string, fileName: string, expiresInSeconds: number): Promise<string>;
  /** Size of an object in bytes, or null if there is none. */
  size(key: string): Promise<number | null>;
  /** Reads an object whole. @throws RangeError if it is larger than `maxBytes` */
  read(key: string, maxBytes: number): Promise<Uint8Array>;
  /** Removes a scan's objects. Idempotent. */
  remove(keys: readonly string[]): Promise<void>;
  /** Answers if the bucket can be reached. @throws if not */
  ping(): Promise<void>;
  close(): void;
}

export interface ReportsConfiguration {
  /** How this process reaches the store, `http://…` or `https://…`. */
  endpoint: string;
  /** What download links point to; the same where absent. */
  publicEndpoint?: string;
  /** What upload links point to; the same where absent. */
  podEndpoint?: string;
  region: string;
  bucket: string;
  accessKeyId: string;
  secretAccessKey: string;
}

/** Report objects on S3, addressed by path: a store inside a cluster has no name for each bucket. Opens no connection before it is used. */
export function createReports(configuration: ReportsConfiguration): Reports {
  const { endpoint, publicEndpoint = endpoint, podEndpoint = endpoint, region, bucket, accessKeyId, secretAccessKey } = configuration;
  const clientFor = (address: string): S3Client =>
    new S3Client({
      endpoint: address,
      region,
      forcePathStyle: true,
      credentials: { accessKeyId, secretAccessKey },
      maxAttempts: 2,
      // A checksum of its own would be signed into an upload link, and a plain PUT would not match it.
      requestChecksumCalculation: 'WHEN_REQUIRED',
      responseChecksumValidation: 'WHEN_REQUIRED',
      requestHandler: { connectionTimeout: 2_000, socketTimeout: 5_000 },
    });
  const store = clientFor(endpoint);
  // Links carry the host they were signed for, so each audience has a client; these two only sign.
  const forPeople = clientFor(publicEndpoint);
  const forPods = clientFor(podEndpoint);

  return {
    uploadLink(key, contentType, expiresInSeconds) {
      const command = new PutObjectCommand({ Bucket: bucket, Key: key, ContentType: contentType });
      // The type is signed too: a report must not be stored as something that a browser would run.
      return getSignedUrl(forPods, command, { expiresIn: expiresInSeconds, signableHeaders: new Set(['host', 'content-type']) });
    },

    downloadLink(key, fileName, expiresInSeconds) {
      const command = new GetObjectCommand({ Bucket: bucket, Key: key, ResponseContentDisposition: attachment(fileName) });
      return getSignedUrl(forPeople, command, { expiresIn: expiresInSeconds });
    },

    async size(key) {
      try {
        const { ContentLength } = await store.send(new HeadObjectCommand({ Bucket: bucket, Key: key }));
        return ContentLength ?? 0;
      } catch (error) {
        if (isMissing(error)) return null;
        throw error;
      }
    },

    async read(key, maxBytes) {
      const { Body } = await store.send(new GetObjectCommand({ Bucket: bucket, Key: key }));
      const chunks: Uint8Array[] = [];
      let bytes = 0;
      // Counted while it comes: what the store says of the length is not what decides how much memory is used.
      for await (const chunk of Body as AsyncIterable<Uint8Array>) {
        bytes += chunk.byteLength;
        if (bytes > maxBytes) throw new RangeError(`object ${key} is larger than ${maxBytes} bytes`);
        chunks.push(chunk);
      }
      return Buffer.concat(chunks);
    },

    async remove(keys) {
      // One by one: the request for many needs a checksum that not every store takes.
      await Promise.all(keys.map((key) => store.send(new DeleteObjectCommand({ Bucket: bucket, Key: key }))));
    },

    async ping() {
      await store.send(new HeadBucketCommand({ Bucket: bucket }));
    },

    close() {
      for (const client of [store, forPeople, forPods]) client.destroy();
    },
  };
}

/** True where the store has no such object. A HEAD has no body, so its error may have no name but that of its status. */
function isMissing(error: unknown): boolean {
  const { name, $metadata } = error as { name?: string; $metadata?: { httpStatusCode?: number } };
  return name === 'NoSuchKey' || name === 'NotFound' || $metadata?.httpStatusCode === 404;
}

/** A Content-Disposition that any browser reads, whatever is in the name (RFC 6266). */
export function attachment(fileName: string): string {
  const plain = fileName.replace(/[^\x20-\x7e]|["\\%]/g, '_');
  const full = encodeURIComponent(fileName).replace(/['()*]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`);
  return `attachment; filename="${plain}"; filename*=UTF-8''${full}`;
}
