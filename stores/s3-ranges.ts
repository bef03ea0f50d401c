/** Parts of objects, and what the errors of the store mean. */
import { GetObjectCommand, type S3Client } from '@aws-sdk/client-s3';
import { Compile } from 'typebox/compile';
import { openSchema } from '../report/view/bounds.ts';
import { ReportView } from '../report/view/schema.ts';

/** A part of an object. */
export interface ByteRange {
  /** The first byte. */
  offset: number;
  bytes: number;
}

/** Reads a part of an object. @returns null if the object does not exist or is shorter @throws if the store is unavailable */
export async function readRange(
  store: S3Client,
  object: { Bucket: string; Key: string },
  { offset, bytes }: ByteRange,
  signal?: AbortSignal,
): Promise<Uint8Array | null> {
  let answer;
  try {
    answer = await store.send(new GetObjectCommand({ ...object, Range: `bytes=${offset}-${offset + bytes - 1}` }), { abortSignal: signal });
  } catch (error) {
    if (isMissing(error) || statusOf(error) === 416) return null;
    throw error;
  }
  const chunks: Uint8Array[] = [];
  let read = 0;
  // A store that ignores the range sends the whole object.
  for await (const chunk of answer.Body as AsyncIterable<Uint8Array>) {
    signal?.throwIfAborted();
    read += chunk.byteLength;
    if (read > bytes) return null;
    chunks.push(chunk);
  }
  return read === bytes ? Buffer.concat(chunks) : null;
}

export const statusOf = (error: unknown): number | undefined =>
  (error as { $metadata?: { httpStatusCode?: number } }).$metadata?.httpStatusCode;

/** Also checks the status, because a HEAD response has no body and its error may have no name. */
export function isMissing(error: unknown): boolean {
  const { name } = error as { name?: string };
  return name === 'NoSuchKey' || name === 'NotFound' || statusOf(error) === 404;
}

/** Reads stored views. Another version of the operator may have written them. */
const schema = Compile(openSchema(ReportView));

/** Returns null if the bytes are not a view of a known version. */
export function parseView(bytes: Uint8Array): ReportView | null {
  try {
    const view: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
    return schema.Check(view) ? view : null;
  } catch {
    // Not JSON. The pages then say that there is no view.
    return null;
  }
}
