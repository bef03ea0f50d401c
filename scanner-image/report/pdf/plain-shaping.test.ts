import { expect } from 'chai';
import fc from 'fast-check';
import PDFDocument from 'pdfkit';
import { TEXT_FACES, readFont, type Face } from './fonts.ts';
import { PLAIN, shapePlainText, type EmbeddedFont, type Run } from './plain-shaping.ts';

const CHARACTERS = Array.from({ length: 0x2200 }, (_, code) => String.fromCodePoint(code)).filter((character) =>
  PLAIN.regular!.test(character),
);
const SIGNS = CHARACTERS.filter((character) => !/\p{Script=Latin}/u.test(character));
/** What the alternates of Inter depend on: capitals, digits, small letters, spaces, and signs that have another form. */
const IN_CONTEXT = [...'AZÉaxé019 .,"&%/_:()[]{}<>=+-–—*~@•×'];
const TEXTS = [
  ...['Fixing 5 causes removes 46% (78 of 166).', 'Selector: .icon[type="button"]:nth-child(2)', 'http://127.0.0.1:18099/en/export/#text'],
  ...['a--b', 'A-B', '2x3', '2 x 3', 'text 2', 'a -> b', 'a <- b', 'a => b', '<!-- 1 -->', '★★★★☆', '« 2½ × ½ »', 'i\u0307', 'ﬁn'],
  ...['<li>', '(4.5:1)', 'f(x) = {y}', 'a:-)', 'e@x.org', 'E@X.org', 'Straße, naïve café', 'Źdźbło', 'AVATAR 1,000'],
];

/** Texts in which each of these characters is before and after each other one, but that do not have the arrows of Inter. */
const withAllPairs = (characters: readonly string[], start = ''): string[] =>
  characters
    .map((first) => start + characters.map((second) => first + second).join(''))
    .flatMap((text) => text.split(/(?<=[-–—=])(?=>)|(?<=<)(?=[-–—=])/));

function open(face: Face): EmbeddedFont {
  const doc = new PDFDocument({ font: null as unknown as string });
  doc.registerFont(face, readFont(face) as unknown as ArrayBuffer);
  doc.font(face);
  return (doc as unknown as { _font: EmbeddedFont })._font;
}

/** A font with the layout of plain text, which counts the texts that it leaves to fontkit, and one without. */
function openTwice(face: Face): { quick: EmbeddedFont; whole: EmbeddedFont; left: () => number } {
  const [quick, whole] = [open(face), open(face)];
  let left = 0;
  const shape = quick.layoutRun.bind(quick);
  quick.layoutRun = (text, features) => {
    left += 1;
    return shape(text, features);
  };
  shapePlainText(quick, face, readFont(face));
  return { quick, whole, left: () => left };
}

const shown = ({ glyphs, positions, advanceWidth }: Run): unknown => [
  advanceWidth,
  ...glyphs.map(({ id, codePoints }, at) => {
    const { xAdvance, yAdvance, xOffset, yOffset, advanceWidth: wide } = positions[at]!;
    return [id, ...codePoints, xAdvance, yAdvance, xOffset, yOffset, wide].join(' ');
  }),
];

describe('plain text', () => {
  for (const face of TEXT_FACES)
    describe(`in ${face}`, () => {
      it('is laid out as by fontkit for each pair of characters', () => {
        const { quick, whole, left } = openTwice(face);
        expect(CHARACTERS).to.include.members([...'aÄž1<“€']);
        for (const text of [...withAllPairs(CHARACTERS, 'n'), ...withAllPairs(SIGNS), ...CHARACTERS])
          expect(shown(quick.layoutRun(text)), text).to.deep.equal(shown(whole.layoutRun(text)));
        expect(left()).to.equal(0);
      });

      it('is laid out as by fontkit for each context of a sign', () => {
        const { quick, whole } = openTwice(face);
        const text = fc.string({ unit: fc.constantFrom(...IN_CONTEXT), minLength: 1, maxLength: 12 });
        fc.assert(
          fc.property(text, (words) => {
            expect(shown(quick.layoutRun(words))).to.deep.equal(shown(whole.layoutRun(words)));
          }),
          { numRuns: 2000 },
        );
      });

      it('is told from texts that need fontkit', () => {
        const { quick, whole } = openTwice(face);
        for (const text of TEXTS.flatMap((words) => [words, ...words.split(' ')]))
          expect(shown(quick.layoutRun(text)), text).to.deep.equal(shown(whole.layoutRun(text)));
      });
    });

  it('keeps the features of a font that are asked for', () => {
    const { quick, whole } = openTwice('regular');
    expect(shown(quick.layoutRun('1234', ['tnum']))).to.deep.equal(shown(whole.layoutRun('1234', ['tnum'])));
  });
});
