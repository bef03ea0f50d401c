/**
 * Report objects on S3-compatible storage. A pod uploads to `incoming/` by presigned links; the operator verifies the
 * objects and copies them to their final keys, for which no upload link is ever signed.
 */
import {
  CopyObjectCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  HeadBucketCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  S3Client,
  type _Object,
} from '@aws-sdk/client-s3';
import { getSignedUrl } from '@aws-sdk/s3-request-presigner';
import { create as contentDisposition } from 'content-disposition';
import { proxyVariables, type OutboundProxy } from '../platform/outbound-proxy.ts';
import { keysIn, type ReadResult, REPORT_FORMATS, type ReportFormat, reportKeys, type ReportKeys } from '../report/schema/objects.ts';
import type { FormatStore } from '../report/workers/report-formats.ts';
import { VIEW_MAX_BYTES, type ReportView } from '../report/view/view.ts';
import { type ByteRange, isMissing, parseView, readRange, statusOf } from './s3-ranges.ts';
import { keyIdentity, secondsUntil, type S3Identity, type S3Key } from './s3-identity.ts';

/** The pod's statement about the other objects, which it uploads last. */
const RESULT_NAME = 'result.json';

/** The keys to which the pod of one attempt and shard uploads its reports, and the statement that they are complete. */
export function incomingKeys(scanId: string, { attempt, shard }: { attempt: number; shard: number }): ReportKeys & { result: string } {
  const folder = `${incomingPrefix(scanId)}${attempt}/${shard}/`;
  return { ...keysIn(folder), result: folder + RESULT_NAME };
}

const INCOMING = 'incoming/';

/** The object that exists once a scan was canceled. The pod asks for it when it must end. */
export const cancelMarkKey = (scanId: string): string => `${incomingPrefix(scanId)}canceled`;

/** The common prefix of all keys to which a scan's pods upload. */
export function incomingPrefix(scanId: string): string {
  return `${INCOMING}${scanId}/`;
}

/** The uploads of a scan. */
export interface Upload {
  scanId: string;
  /** The time of the newest object. */
  newestAt: Date;
}

interface CopyOptions {
  etag: string;
  contentType: string;
  signal?: AbortSignal;
}

export type CopyResult = { ok: true } | { ok: false; reason: 'missing' | 'changed' };

export type ReportsConfiguration = StoreAddress & ({ identity: S3Identity } | Pick<S3Key, 'accessKeyId' | 'secretAccessKey'>);

interface StoreAddress {
  /** The address at which this process reaches the store, `http://…` or `https://…`. */
  endpoint: string;
  /** The address in download links. Default: `endpoint`. */
  publicEndpoint?: string;
  /** The address in upload links. Default: `endpoint`. */
  podEndpoint?: string;
  region: string;
  bucket: string;
  /** The proxy to the store. Default: none. */
  proxy?: OutboundProxy;
}

/** In milliseconds. Longer than for other requests: the store copies the object, or writes many megabytes, before it responds. */
const SLOW_SOCKET_TIMEOUT_MS = 60_000;
const SOCKET_TIMEOUT_MS = 5_000;
/** How long earlier connections stay open for the requests on them. */
const DRAIN_MS = 120_000;

/**
 * Opens report objects on S3, addressed by path: a store inside a cluster has no DNS name for each bucket. Connects on first use.
 * @param idleMs how long the store may send and accept nothing, except for large objects
 */
export function createReports(configuration: ReportsConfiguration, { idleMs = SOCKET_TIMEOUT_MS } = {}) {
  const { endpoint, publicEndpoint = endpoint, podEndpoint = endpoint, bucket } = configuration;
  const identity = 'identity' in configuration ? configuration.identity : keyIdentity(() => configuration);
  const clientFor = (address: string, socketTimeout = idleMs) => openClient({ ...configuration, identity }, address, socketTimeout);
  const openClients = () => ({ store: clientFor(endpoint), patient: clientFor(endpoint, SLOW_SOCKET_TIMEOUT_MS) });
  let clients = openClients();
  // A link contains the host that it was signed for, so pods and users need separate clients. These two only sign links.
  const forUsers = clientFor(publicEndpoint);
  const forPods = clientFor(podEndpoint);

  async function linkSeconds(seconds: number): Promise<number> {
    const { expiration } = await identity.lasting(seconds);
    return Math.max(1, Math.min(seconds, secondsUntil(expiration, Date.now())));
  }

  async function sign(
    client: S3Client,
    command: GetObjectCommand | PutObjectCommand,
    seconds: number,
    signed?: Set<string>,
  ): Promise<string> {
    return getSignedUrl(client, command, { expiresIn: await linkSeconds(seconds), signableHeaders: signed });
  }

  const read: FormatStore['read'] = (key, maxBytes, signal) => readObject(clients.store, { Bucket: bucket, Key: key }, maxBytes, signal);

  async function remove(keys: readonly string[]): Promise<void> {
    // One request per object, because DeleteObjects needs a checksum that not every store accepts.
    await Promise.all(keys.map((key) => clients.store.send(new DeleteObjectCommand({ Bucket: bucket, Key: key }))));
  }

  async function write(key: string, bytes: Uint8Array, contentType: string, signal?: AbortSignal, by = clients.store): Promise<void> {
    await by.send(new PutObjectCommand({ Bucket: bucket, Key: key, Body: bytes, ContentType: contentType }), { abortSignal: signal });
  }

  async function* list(prefix: string, signal?: AbortSignal): AsyncGenerator<_Object[]> {
    let token: string | undefined;
    do {
      const command = new ListObjectsV2Command({ Bucket: bucket, Prefix: prefix, ContinuationToken: token });
      const page = await clients.store.send(command, { abortSignal: signal });
      yield page.Contents ?? [];
      token = page.NextContinuationToken;
    } while (token !== undefined);
  }

  return {
    /**
     * Returns for how many seconds the next links can be valid: `seconds`, or less if the session at the store ends earlier. It is
     * renewed for this.
     */
    linkSeconds,

    /** Returns a URL that accepts one object by PUT with the given content type, until `expiresInSeconds` from now, at most as `linkSeconds`. */
    uploadLink(key: string, contentType: string, expiresInSeconds: number): Promise<string> {
      const command = new PutObjectCommand({ Bucket: bucket, Key: key, ContentType: contentType });
      // The content type is signed too, so that a pod cannot upload a type that a browser executes.
      return sign(forPods, command, expiresInSeconds, new Set(['host', 'content-type']));
    },

    /** Returns a URL at which a pod may read one object by GET, for as long as an upload link. */
    readLink: (key: string, seconds: number) => sign(forPods, new GetObjectCommand({ Bucket: bucket, Key: key }), seconds),

    /** Returns a URL that serves the object by GET, and the name under which a browser saves it. */
    downloadLink(key: string, fileName: string, expiresInSeconds: number): Promise<string> {
      const command = new GetObjectCommand({ Bucket: bucket, Key: key, ResponseContentDisposition: contentDisposition(fileName) });
      return sign(forUsers, command, expiresInSeconds);
    },

    async size(key: string): Promise<number | null> {
      try {
        const { ContentLength } = await clients.store.send(new HeadObjectCommand({ Bucket: bucket, Key: key }));
        return ContentLength ?? 0;
      } catch (error) {
        if (isMissing(error)) return null;
        throw error;
      }
    },

    read,

    /** Copies an object within the bucket, if its ETag is still `etag`. The copy has the given content type and no other headers. */
    copy: (from: string, to: string, options: CopyOptions) => copyObject(clients.patient, bucket, from, to, options),

    /**
     * Returns the view of a scan's report. It never changes. Null if there is none, or if it is of an unknown version.
     */
    async readView(scanId: string, signal?: AbortSignal): Promise<ReportView | null> {
      const view = await read(reportKeys(scanId).view, VIEW_MAX_BYTES, signal);
      return view.ok ? parseView(view.bytes) : null;
    },

    /** Stores the view of a scan's report. Idempotent. @param bytes a `ReportView` as JSON */
    writeView: (scanId: string, bytes: Uint8Array, signal?: AbortSignal) =>
      write(reportKeys(scanId).view, bytes, 'application/json', signal),

    /** Reads a part of the findings, whose place is in the view. @returns null if the scan has no such part (any more) */
    readFindings: (scanId: string, place: ByteRange, signal?: AbortSignal) =>
      readRange(clients.store, { Bucket: bucket, Key: reportKeys(scanId).findings }, place, signal),

    /** Stores the findings of a scan's report, to which its view refers. Idempotent. */
    writeFindings: (scanId: string, bytes: Uint8Array, signal?: AbortSignal) =>
      write(reportKeys(scanId).findings, bytes, 'application/octet-stream', signal, clients.patient),

    writeFormat: (scanId: string, format: ReportFormat, bytes: Uint8Array, signal?: AbortSignal) =>
      write(reportKeys(scanId)[format], bytes, REPORT_FORMATS[format].contentType, signal),

    /** Reads one picture of a scan. @returns null if the scan has no such picture (any more) */
    readPicture: (scanId: string, place: ByteRange, signal?: AbortSignal) =>
      readRange(clients.store, { Bucket: bucket, Key: reportKeys(scanId).pictures }, place, signal),

    /** Writes the object that tells the pod of a scan that the scan was canceled. Idempotent. */
    markCanceled: (scanId: string, signal?: AbortSignal) => write(cancelMarkKey(scanId), Buffer.from('canceled'), 'text/plain', signal),

    remove,

    /** Deletes every object whose key begins with `prefix`. Idempotent. */
    async removeAll(prefix: string) {
      for await (const page of list(prefix)) await remove(page.flatMap(({ Key }) => Key ?? []));
    },

    /** Lists the scans whose pods have uploaded objects that still exist. */
    async uploads(signal?: AbortSignal): Promise<Upload[]> {
      const newest = new Map<string, Date>();
      for await (const page of list(INCOMING, signal))
        for (const { Key = '', LastModified = new Date() } of page) {
          const [, scanId, ...rest] = Key.split('/');
          // Such as the empty object `incoming/` by which some tools show a folder.
          if (scanId === undefined || rest.length === 0) continue;
          if (LastModified > (newest.get(scanId) ?? new Date(0))) newest.set(scanId, LastModified);
        }
      return [...newest].map(([scanId, newestAt]) => ({ scanId, newestAt }));
    },

    /** Checks that the bucket is reachable. @throws if it is unreachable */
    async ping() {
      await clients.store.send(new HeadBucketCommand({ Bucket: bucket }));
    },

    /** Opens new connections, because the proxy has changed. */
    renew() {
      const earlier = clients;
      clients = openClients();
      const end = (): void => Object.values(earlier).forEach((client) => client.destroy());
      setTimeout(end, DRAIN_MS).unref();
    },

    close() {
      for (const client of [...Object.values(clients), forUsers, forPods]) client.destroy();
    },
  };
}
export type Reports = ReturnType<typeof createReports>;

function openClient(
  { region, identity, proxy }: StoreAddress & { identity: S3Identity },
  endpoint: string,
  socketTimeout: number,
): S3Client {
  const agent = proxy && { proxyEnv: proxyVariables(proxy) };
  return new S3Client({
    endpoint,
    region,
    forcePathStyle: true,
    // Without an end that has passed, the client would keep the first key and never ask for the current one.
    credentials: async () => ({ ...(await identity.lasting(0)), expiration: new Date(0) }),
    maxAttempts: 2,
    // By default the SDK signs a checksum into an upload link, and a plain PUT does not match it.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    requestHandler: { connectionTimeout: 2_000, socketTimeout, ...(agent && { httpAgent: agent, httpsAgent: agent }) },
  });
}

async function readObject(
  store: S3Client,
  object: { Bucket: string; Key: string },
  maxBytes: number,
  signal?: AbortSignal,
): Promise<ReadResult> {
  let answer;
  try {
    answer = await store.send(new GetObjectCommand(object), { abortSignal: signal });
  } catch (error) {
    if (isMissing(error)) return { ok: false, reason: 'missing' };
    throw error;
  }
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  // Counts the bytes that arrive, because the announced length must not decide how much memory is used.
  for await (const chunk of answer.Body as AsyncIterable<Uint8Array>) {
    signal?.throwIfAborted();
    bytes += chunk.byteLength;
    if (bytes > maxBytes) return { ok: false, reason: 'too_large' };
    chunks.push(chunk);
  }
  return { ok: true, bytes: Buffer.concat(chunks), etag: answer.ETag ?? '' };
}

async function copyObject(
  copier: S3Client,
  bucket: string,
  from: string,
  to: string,
  { etag, contentType, signal }: CopyOptions,
): Promise<CopyResult> {
  const command = new CopyObjectCommand({
    Bucket: bucket,
    Key: to,
    CopySource: `${bucket}/${from.split('/').map(encodeURIComponent).join('/')}`,
    CopySourceIfMatch: etag,
    // Drops headers that an uploader can set without a signature, such as Content-Encoding.
    MetadataDirective: 'REPLACE',
    ContentType: contentType,
  });
  try {
    await copier.send(command, { abortSignal: signal });
    return { ok: true };
  } catch (error) {
    if (isMissing(error)) return { ok: false, reason: 'missing' };
    if (statusOf(error) === 412) return { ok: false, reason: 'changed' };
    throw error;
  }
}
