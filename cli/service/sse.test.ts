import { expect } from 'chai';
import fc from 'fast-check';
import { readEvents, type ServerEvent } from './follow.ts';

const read = async (chunks: Uint8Array[]): Promise<ServerEvent[]> => {
  const events: ServerEvent[] = [];
  for await (const event of readEvents(
    (async function* () {
      yield* chunks;
    })(),
  ))
    events.push(event);
  return events;
};
const text =
  '\u00e4: x\nid: 1\ndata: {"a":"\u017c\ud83c\udf89"}\n\n: keepalive\n\nid: 2\r\ndata: one\r\ndata:two\r\n\r\ndata: three\n\ndata: unfinished\n';
const whole: ServerEvent[] = [
  { id: '1', data: '{"a":"\u017c\ud83c\udf89"}' },
  { id: '2', data: 'one\ntwo' },
  { id: '2', data: 'three' },
];

describe('server-sent events', () => {
  it('have IDs and data; comments and unfinished events are ignored', async () => {
    expect(await read([Buffer.from(text)])).to.deep.equal(whole);
  });

  it('do not depend on how the stream is split into chunks', async () => {
    const bytes = Buffer.from(text);
    await fc.assert(
      fc.asyncProperty(fc.array(fc.integer({ min: 0, max: bytes.length }), { maxLength: 12 }), async (cuts) => {
        const at = [0, ...cuts.sort((a, b) => a - b), bytes.length];
        expect(await read(at.slice(1).map((end, index) => bytes.subarray(at[index], end)))).to.deep.equal(whole);
      }),
    );
  });

  it('are rejected if they are too long', async () => {
    let thrown: unknown;
    try {
      await read(Array.from({ length: 40 }, () => Buffer.alloc(64 * 1024, 'x')));
    } catch (error) {
      thrown = error;
    }
    expect(thrown).to.be.instanceOf(RangeError);
  });
});
