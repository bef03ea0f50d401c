import { expect } from 'chai';
import fc from 'fast-check';
import { readObjects } from './json-stream.ts';

async function read(chunks: readonly Uint8Array[]): Promise<unknown[]> {
  const found: unknown[] = [];
  const source = async function* () {
    for (const chunk of chunks) yield chunk;
  };
  for await (const object of readObjects(source())) found.push(object);
  return found;
}

describe('objects that kubectl prints', () => {
  it('are read one by one, however they are formatted and split', () =>
    fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(fc.dictionary(fc.string(), fc.jsonValue()), fc.constantFrom(0, 4))),
        fc.array(fc.nat(2000)),
        async (objects, cuts) => {
          const bytes = Buffer.from(objects.map(([object, indent]) => `${JSON.stringify(object, null, indent)}\n`).join(''));
          const at = [0, ...cuts.map((cut) => Math.min(cut, bytes.length)).toSorted((a, b) => a - b), bytes.length];
          const chunks = at.slice(1).map((end, index) => bytes.subarray(at[index], end));
          expect(await read(chunks)).to.deep.equal(objects.map(([object]) => JSON.parse(JSON.stringify(object)) as unknown));
        },
      ),
    ));

  it('may be cut off at the end', async () => {
    expect(await read([Buffer.from('{"a":"}"}{"b":')])).to.deep.equal([{ a: '}' }]);
  });
});
