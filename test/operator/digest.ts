/** What a pod announces of an object, and a PDF to announce. */
import { createHash } from 'node:crypto';

export const digestOf = (bytes: Uint8Array) => ({ bytes: bytes.byteLength, sha256: createHash('sha256').update(bytes).digest('hex') });
export const PDF = Buffer.from('%PDF-1.7\n% a report\n%%EOF\n');
