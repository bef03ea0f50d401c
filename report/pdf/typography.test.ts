import { expect } from 'chai';
import fc from 'fast-check';
import type { Metrics } from './fonts.ts';
import { createLineBreaker, linesOf, spansOf, type Style } from './typography.ts';

/** Fonts with square characters. The text font has ASCII, the monospaced one also Greek. */
const metrics: Metrics = {
  has: (face, codePoint) => codePoint < 0x7f || (face === 'mono' && codePoint >= 0x370 && codePoint < 0x400) || codePoint === 0x2026,
  width: (_face, size, text) => size * [...text].length,
};
const style: Style = { face: 'regular', size: 1, color: '#000000', leading: 1 };
const texts = (text: string, width: number, maxLines?: number, set: Style = style): string[] =>
  linesOf(text, set, width, metrics, maxLines).map(({ spans }) => spans.map((span) => span.text).join(''));

describe('spans', () => {
  it('use one font if it has all characters', () => {
    expect(spansOf('plain text', 'regular', metrics)).to.deep.equal([{ face: 'regular', text: 'plain text', actual: null, level: 0 }]);
  });

  it('use the monospaced font for characters that only it has', () => {
    expect(spansOf('a αβ b', 'regular', metrics).map(({ face, text }) => [face, text])).to.deep.equal([
      ['regular', 'a '],
      ['mono', 'αβ'],
      ['regular', ' b'],
    ]);
  });

  it('replace characters that no font has by □, and keep the original text', () => {
    expect(spansOf('日本', 'regular', metrics)).to.deep.equal([{ face: 'regular', text: '□□', actual: '日本', level: 0 }]);
    expect(spansOf('👩‍👩‍👧', 'regular', metrics)[0]).to.include({ text: '□□□' });
  });

  it('replace control characters, lone surrogates and private-use characters by □', () => {
    for (const text of ['\u0007', '\ud800', '\ue000']) expect(spansOf(text, 'regular', metrics)[0]!.text).to.equal('□');
  });

  it('drop invisible characters and direction marks', () => {
    expect(spansOf('a\u202eb\u200bc\u00add', 'regular', metrics)[0]!.text).to.equal('abcd');
  });

  it('collapse white space into one space', () => {
    expect(spansOf('a\n\t b', 'regular', metrics)[0]!.text).to.equal('a b');
  });
});

describe('lines', () => {
  it('break at spaces, which stay in the text', () => {
    expect(texts('one two three', 8)).to.deep.equal(['one two ', 'three']);
  });

  it('break words that are wider than a line', () => {
    expect(texts('abcdefgh', 3)).to.deep.equal(['abc', 'def', 'gh']);
  });

  it('break URLs after punctuation', () => {
    expect(texts('https://x.example/abc/def', 12, undefined, { ...style, breakAnywhere: true })).to.deep.equal([
      'https://x.',
      'example/abc/',
      'def',
    ]);
  });

  it('end in an ellipsis if they are cut off', () => {
    expect(texts('one two three four', 8, 1)).to.deep.equal(['one two…']);
    expect(texts('one two', 8, 1)).to.deep.equal(['one two']);
  });

  it('are never wider than allowed, and lose no text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.integer({ min: 2, max: 30 }), fc.boolean(), (text, width, breakAnywhere) => {
        const lines = linesOf(text, { ...style, breakAnywhere }, width, metrics);
        for (const line of lines) expect(line.width).to.be.at.most(width);
        const all = (spans: { text: string }[]) =>
          spans
            .map((span) => span.text)
            .join('')
            .replaceAll(' ', '');
        expect(all(lines.flatMap((line) => line.spans))).to.equal(all(spansOf(text, 'regular', metrics)));
      }),
    );
  });

  it('are never more or wider than allowed', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'grapheme', maxLength: 200 }),
        fc.integer({ min: 2, max: 12 }),
        fc.integer({ min: 1, max: 3 }),
        (text, width, most) => {
          const lines = linesOf(text, style, width, metrics, most);
          expect(lines.length).to.be.at.most(most);
          for (const line of lines) expect(line.width).to.be.at.most(width);
        },
      ),
    );
  });
});

describe('a line breaker', () => {
  it('measures a text once per font, size and width', () => {
    let measured = 0;
    const lines = createLineBreaker({ ...metrics, width: (...args) => ((measured += 1), metrics.width(...args)) });
    const first = lines('two words', style, 5);
    const once = measured;
    expect(lines('two words', { ...style, color: '#ffffff', leading: 2 }, 5)).to.equal(first);
    expect(measured).to.equal(once);
    for (const [set, width, maxLines] of [
      [{ ...style, face: 'mono' }, 5],
      [{ ...style, size: 2 }, 5],
      [{ ...style, breakAnywhere: true }, 5],
      [style, 20],
      [style, 5, 1],
    ] as [Style, number, number?][])
      expect(lines('two words', set, width, maxLines)).to.deep.equal(linesOf('two words', set, width, metrics, maxLines));
  });
});
