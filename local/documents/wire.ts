/** MongoDB's wire protocol: OP_MSG, and the OP_QUERY of old handshakes. */
import { decode, encode, type Doc } from './values.ts';

/** A request, and the form of its response. */
export interface Request {
  requestId: number;
  command: Doc;
  database: string;
  /** Whether it is an OP_QUERY, whose response is an OP_REPLY. */
  legacy: boolean;
  /** Whether the client waits for no response (write concern 0). */
  silent: boolean;
}

const OP_REPLY = 1;
const OP_QUERY = 2004;
const OP_MSG = 2013;
const HEADER = 16;
const MAX_MESSAGE = 48_000_000;
const CHECKSUM_PRESENT = 1;
const MORE_TO_COME = 2;

/**
 * Splits a stream of bytes into requests.
 * @returns a function that takes bytes and returns the complete requests; it throws if the bytes are not a message
 */
export function requestReader(): (bytes: Buffer) => Request[] {
  let chunks: Buffer[] = [];
  let held = 0;
  return (bytes) => {
    chunks.push(bytes);
    held += bytes.length;
    const requests: Request[] = [];
    while (held >= HEADER) {
      if (chunks[0]!.length < HEADER) chunks = [Buffer.concat(chunks)];
      const length = chunks[0]!.readInt32LE(0);
      if (length < HEADER || length > MAX_MESSAGE) throw new Error(`a message of ${length} bytes`);
      if (held < length) break;
      const all = chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks);
      requests.push(parse(all.subarray(0, length)));
      held -= length;
      chunks = held === 0 ? [] : [all.subarray(length)];
    }
    return requests;
  };
}

function parse(message: Buffer): Request {
  const requestId = message.readInt32LE(4);
  const opcode = message.readInt32LE(12);
  if (opcode === OP_MSG) return { requestId, legacy: false, ...parseMessage(message) };
  if (opcode !== OP_QUERY) throw new Error(`opcode ${opcode} is not supported`);
  const nameEnd = message.indexOf(0, HEADER + 4);
  const collection = message.toString('utf8', HEADER + 4, nameEnd);
  return {
    requestId,
    legacy: true,
    silent: false,
    command: decode(documentAt(message, nameEnd + 1 + 8, message.length)),
    database: collection.slice(0, collection.indexOf('.')),
  };
}

function parseMessage(message: Buffer): Pick<Request, 'command' | 'database' | 'silent'> {
  const flags = message.readUInt32LE(HEADER);
  const end = message.length - (flags & CHECKSUM_PRESENT ? 4 : 0);
  let command: Doc | null = null;
  const sequences: [string, Doc[]][] = [];
  for (let at = HEADER + 4; at < end;) {
    const kind = message[at++];
    if (kind === 0) {
      const body = documentAt(message, at, end);
      command = decode(body);
      at += body.length;
    } else if (kind === 1) {
      const sectionEnd = at + message.readInt32LE(at);
      if (sectionEnd > end) throw new Error('a section is longer than its message');
      const nameEnd = message.indexOf(0, at + 4);
      const docs: Doc[] = [];
      for (let inner = nameEnd + 1; inner < sectionEnd;) {
        const body = documentAt(message, inner, sectionEnd);
        docs.push(decode(body));
        inner += body.length;
      }
      sequences.push([message.toString('utf8', at + 4, nameEnd), docs]);
      at = sectionEnd;
    } else throw new Error(`section kind ${kind} is not supported`);
  }
  if (command === null) throw new Error('a message without a command');
  for (const [field, docs] of sequences) command[field] = docs;
  return { command, database: String(command['$db'] ?? 'admin'), silent: (flags & MORE_TO_COME) !== 0 };
}

function documentAt(message: Buffer, at: number, end: number): Buffer {
  const length = message.readInt32LE(at);
  if (length < 5 || at + length > end) throw new Error(`a document of ${length} bytes does not fit its message`);
  return message.subarray(at, at + length);
}

export function writeAnswer(request: Request, answer: Doc, responseId: number): Buffer {
  const body = encode(answer);
  const fields = request.legacy ? Buffer.alloc(20) : Buffer.alloc(5);
  if (request.legacy) fields.writeInt32LE(1, 16);
  const header = Buffer.alloc(HEADER);
  header.writeInt32LE(HEADER + fields.length + body.length, 0);
  header.writeInt32LE(responseId, 4);
  header.writeInt32LE(request.requestId, 8);
  header.writeInt32LE(request.legacy ? OP_REPLY : OP_MSG, 12);
  return Buffer.concat([header, fields, body]);
}
