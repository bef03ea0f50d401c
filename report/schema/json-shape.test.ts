import { expect } from 'chai';
import fc from 'fast-check';
import { isParseable, shapeOf } from './json-shape.ts';

const of = (text: string) => shapeOf(Buffer.from(text));

function count(value: unknown): { values: number; depth: number } {
  if (typeof value !== 'object' || value === null) return { values: 1, depth: 0 };
  const inner = Object.values(value).map(count);
  return { values: inner.reduce((sum, { values }) => sum + values, 1), depth: 1 + Math.max(0, ...inner.map(({ depth }) => depth)) };
}

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
});
