import { expect } from 'chai';
import fc from 'fast-check';
import { linesOf, spansOf, type Metrics, type Style } from './typography.ts';

/** Fonts in which every character is as wide as it is high; the text font has ASCII, the monospaced one also Greek. */
const metrics: Metrics = {
  has: (face, codePoint) => codePoint < 0x7f || (face === 'mono' && codePoint >= 0x370 && codePoint < 0x400) || codePoint === 0x2026,
  width: (_face, size, text) => size * [...text].length,
};
const style: Style = { face: 'regular', size: 1, color: '#000000', leading: 1 };
const texts = (text: string, width: number, most?: number, set: Style = style): string[] =>
  linesOf(text, set, width, metrics, most).map(({ spans }) => spans.map((span) => span.text).join(''));

describe('text in the fonts that there are', () => {
  it('is one span where its font has it all', () => {
    expect(spansOf('plain text', 'regular', metrics)).to.deep.equal([{ face: 'regular', text: 'plain text', actual: null }]);
  });

  it('is set in the other font where only that one has it', () => {
    expect(spansOf('a αβ b', 'regular', metrics).map(({ face, text }) => [face, text])).to.deep.equal([
      ['regular', 'a '],
      ['mono', 'αβ'],
      ['regular', ' b'],
    ]);
  });

  it('is a □ for each character that no font has, which keeps the character', () => {
    expect(spansOf('日本', 'regular', metrics)).to.deep.equal([{ face: 'regular', text: '□□', actual: '日本' }]);
    expect(spansOf('👩‍👩‍👧', 'regular', metrics)[0]).to.include({ text: '□□□' });
  });

  it('shows control characters, halves of characters and icons of other fonts as □', () => {
    for (const text of ['\u0007', '\ud800', '\ue000']) expect(spansOf(text, 'regular', metrics)[0]!.text).to.equal('□');
  });

  it('drops what prints nothing and turns text around', () => {
    expect(spansOf('a\u202eb\u200bc\u00add', 'regular', metrics)[0]!.text).to.equal('abcd');
  });

  it('has one space for white space of any kind', () => {
    expect(spansOf('a\n\t b', 'regular', metrics)[0]!.text).to.equal('a b');
  });
});

describe('lines', () => {
  it('break at spaces, which stay in the text', () => {
    expect(texts('one two three', 8)).to.deep.equal(['one two ', 'three']);
  });

  it('break a word that is too long where they must', () => {
    expect(texts('abcdefgh', 3)).to.deep.equal(['abc', 'def', 'gh']);
  });

  it('break a URL after its marks', () => {
    expect(texts('https://x.example/abc/def', 12, undefined, { ...style, breakAnywhere: true })).to.deep.equal([
      'https://x.',
      'example/abc/',
      'def',
    ]);
  });

  it('end in an ellipsis where they are cut off', () => {
    expect(texts('one two three four', 8, 1)).to.deep.equal(['one two…']);
    expect(texts('one two', 8, 1)).to.deep.equal(['one two']);
  });

  it('are never wider than they may be, and lose nothing', () => {
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

  it('are never more than they may be, nor wider', () => {
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
