/** Decodes `aws-chunked` bodies: sized chunks, then trailing headers with the checksum that the SDK computed while sending. */
import { Transform } from 'node:stream';
import { S3Error } from './errors.ts';

const MAX_LINE_BYTES = 4096;

/** A stream that decodes chunked bytes. `trailers` is complete when the stream has ended. */
export function chunkReader(): { stream: Transform; trailers: Map<string, string> } {
  const trailers = new Map<string, string>();
  let state: 'size' | 'data' | 'data-end' | 'trailers' | 'end' = 'size';
  let left = 0;
  let held: Buffer = Buffer.alloc(0);

  /** The next line without its line break, or null if it is incomplete. */
  function line(): string | null {
    const end = held.indexOf('\r\n');
    if (end === -1) {
      if (held.length > MAX_LINE_BYTES) throw malformed('a line is too long');
      return null;
    }
    const text = held.toString('latin1', 0, end);
    held = held.subarray(end + 2);
    return text;
  }

  /** Parses the next piece. @returns false if it needs more bytes */
  function step(push: (bytes: Buffer) => void): boolean {
    if (state === 'data') {
      if (held.length === 0) return false;
      const bytes = held.subarray(0, left);
      held = held.subarray(bytes.length);
      left -= bytes.length;
      push(bytes);
      if (left === 0) state = 'data-end';
      return true;
    }
    if (state === 'end') {
      if (held.length > 0) throw malformed('bytes follow its end');
      return false;
    }
    const text = line();
    if (text === null) return false;
    if (state === 'data-end') {
      if (text !== '') throw malformed('a chunk is longer than its declared size');
      state = 'size';
    } else if (state === 'size') {
      const size = /^([0-9a-f]{1,8})(;.*)?$/i.exec(text);
      if (size === null) throw malformed('a chunk has no size');
      left = Number.parseInt(size[1]!, 16);
      state = left === 0 ? 'trailers' : 'data';
    } else if (text === '') state = 'end';
    else {
      const colon = text.indexOf(':');
      if (colon < 1 || trailers.size > 10) throw malformed('a trailer is not a valid header');
      trailers.set(text.slice(0, colon).trim().toLowerCase(), text.slice(colon + 1).trim());
    }
    return true;
  }

  const stream = new Transform({
    transform(bytes: Buffer, _, done) {
      held = held.length === 0 ? bytes : Buffer.concat([held, bytes]);
      try {
        while (step((part) => stream.push(part)));
        done();
      } catch (error) {
        done(error as Error);
      }
    },
    flush(done) {
      done(state === 'end' ? null : malformed('it ends too early'));
    },
  });
  return { stream, trailers };
}

const malformed = (why: string): S3Error => new S3Error('IncompleteBody', `The aws-chunked body is malformed: ${why}.`);
