import { expect } from 'chai';
import fc from 'fast-check';
import { ValidationFailure } from './errors.ts';
import { decodeCursor, encodeCursor, pageOf, type Position } from './pagination.ts';

const base64 = (text: string): string => Buffer.from(text).toString('base64url');

describe('a cursor', () => {
  it('is decoded to the position that was encoded', () => {
    const position = fc.record({ at: fc.date({ noInvalidDate: true }), id: fc.string({ unit: 'grapheme' }) });
    fc.assert(fc.property(position, (given: Position) => void expect(decodeCursor(encodeCursor(given))).to.deep.equal(given)));
  });

  it('may be absent', () => expect(decodeCursor(undefined)).to.equal(null));

  for (const malformed of ['', '!!!', base64('null'), base64('["1","a"]'), base64('[1e300,"a"]'), base64('[ 1, "a"]')])
    it(`is rejected as ${JSON.stringify(malformed)}`, () => {
      expect(() => decodeCursor(malformed)).to.throw(ValidationFailure, 'cursor is not a next_cursor');
    });
});

describe('pageOf', () => {
  const items = [3, 2, 1].map((n) => ({ at: new Date(n), id: String(n) }));
  const page = (limit: number) => pageOf(items.slice(0, limit + 1), limit, (item) => item);

  it('leads to the next page from its last item', () => {
    expect(page(2)).to.deep.equal({ items: items.slice(0, 2), nextCursor: encodeCursor(items[1]!) });
  });

  it('has no next page if the list ends with it', () => {
    expect(page(3)).to.deep.equal({ items, nextCursor: null });
    expect(pageOf([], 3, (item: Position) => item)).to.deep.equal({ items: [], nextCursor: null });
  });
});
