import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { expect } from 'chai';
import fc from 'fast-check';
import { isParseable, shapeOf } from './export-size.ts';

const of = (text: string) => shapeOf(Buffer.from(text));

function count(value: unknown): { values: number; depth: number } {
  if (typeof value !== 'object' || value === null) return { values: 1, depth: 0 };
  const inner = Object.values(value).map(count);
  return { values: inner.reduce((sum, { values }) => sum + values, 1), depth: 1 + Math.max(0, ...inner.map(({ depth }) => depth)) };
}

const SIZE = 8 * 1024 * 1024;

describe('JSON shape', () => {
  it('never counts fewer values than a parser creates and measures the depth', () => {
    fc.assert(
      fc.property(fc.json(), (text) => {
        const { values, depth } = of(text);
        const parsed = count(JSON.parse(text));
        return values >= parsed.values && values <= 2 * parsed.values && depth === parsed.depth;
      }),
    );
  });

  it('ignores brackets and commas in strings', () => {
    expect(of(String.raw`["[[[,,,\"]]\\", ",{"]`)).to.deep.equal({ values: 3, depth: 1 });
  });

  it('rejects text that would exhaust memory and accepts text that is only long', () => {
    expect(isParseable(Buffer.from(`[${'[],'.repeat(300_000)}[]]`))).to.equal(false);
    expect(isParseable(Buffer.from('['.repeat(1000)))).to.equal(false);
    expect(isParseable(Buffer.from(JSON.stringify(Array.from({ length: 300_000 }, () => 'x'.repeat(60)))))).to.equal(true);
    expect(isParseable(Buffer.from(`{"open": "`))).to.equal(true);
  });

  it('rejects what needs ten times its size in memory', async () => {
    // The values that need most: each new key of nested objects needs a shape of its own.
    const nested = (from: number): string => {
      const keys = Array.from({ length: 28 }, (_, depth) => `{"k${(from + depth).toString(36)}":`);
      return `${keys.join('')}1${'}'.repeat(28)}`;
    };
    const values = Array.from({ length: 30_000 }, (_, at) => nested(at * 28));
    const textOf = (count: number): Buffer => {
      const text = `[${values.slice(0, count).join(',')}`;
      return Buffer.from(`${text},"${'x'.repeat(Math.max(0, SIZE - text.length - 4))}"]`);
    };
    let [most, tooMany] = [0, values.length];
    while (tooMany - most > 1) {
      const middle = Math.floor((most + tooMany) / 2);
      if (isParseable(textOf(middle))) most = middle;
      else tooMany = middle;
    }
    const bytes = textOf(most);
    expect(bytes.byteLength).to.be.within(SIZE - 100, SIZE);
    const parse = `const { parentPort, workerData } = require('node:worker_threads');
      parentPort.postMessage(JSON.parse(Buffer.from(workerData).toString('latin1')).length);`;
    const limits = { maxOldGenerationSizeMb: (10 * SIZE) / 1024 / 1024 };
    const worker = new Worker(parse, { eval: true, workerData: bytes, resourceLimits: limits });
    expect(await once(worker, 'message')).to.deep.equal([most + 1]);
  });
});
