import { expect } from 'chai';
import PDFDocument from 'pdfkit';
import { TEXT_FACES, readFont, type Face } from './fonts.ts';
import { PLAIN, shapePlainText, type EmbeddedFont, type Run } from './plain-shaping.ts';

const CHARACTERS = Array.from({ length: 0x17f - 0x20 }, (_, at) => String.fromCodePoint(0x20 + at));
/** What the alternates of Inter depend on, in texts of the report. */
const TEXTS = [
  ...[
    'Fixing 5 causes removes 46% (78 of 166).',
    'Selector: .icon[type="button"]:nth-child(2)',
    'xml:lang',
    '/en/export/#text',
    'a--b',
    'A-B',
  ],
  ...[
    '2x3',
    '2 x 3',
    'text 2',
    'a -> b',
    '<li>',
    'f(x) = {y}',
    'a:-)',
    'e@x.org',
    'E@X.org',
    'Straße, naïve café',
    'Źdźbło',
    'AVATAR 1,000',
  ],
];

function open(face: Face): EmbeddedFont {
  const doc = new PDFDocument({ font: null as unknown as string });
  doc.registerFont(face, readFont(face) as unknown as ArrayBuffer);
  doc.font(face);
  return (doc as unknown as { _font: EmbeddedFont })._font;
}

const shown = ({ glyphs, positions, advanceWidth }: Run): unknown => [
  advanceWidth,
  ...glyphs.map(({ id }, at) => {
    const { xAdvance, yAdvance, xOffset, yOffset, advanceWidth: wide } = positions[at]!;
    return [id, xAdvance, yAdvance, xOffset, yOffset, wide].join(' ');
  }),
];

describe('plain text', () => {
  for (const face of TEXT_FACES)
    it(`is laid out in ${face} as by fontkit`, function () {
      this.timeout(30_000);
      const [quick, whole] = [open(face), open(face)];
      let shaped = 0;
      const shape = quick.layoutRun.bind(quick);
      quick.layoutRun = (text, features) => {
        shaped += 1;
        return shape(text, features);
      };
      shapePlainText(quick, face);
      const pairs = CHARACTERS.flatMap((first) => CHARACTERS.map((second) => `n${first}${second}`)).filter((pair) =>
        PLAIN[face]!.test(pair),
      );
      for (const pair of pairs) expect(shown(quick.layoutRun(pair)), pair).to.deep.equal(shown(whole.layoutRun(pair)));
      expect(shaped).to.equal(0);
      for (const text of TEXTS.flatMap((words) => [words, ...words.split(' ')]))
        expect(shown(quick.layoutRun(text)), text).to.deep.equal(shown(whole.layoutRun(text)));
    });

  it('keeps the features of a font that are asked for', () => {
    const [quick, whole] = [open('regular'), open('regular')];
    shapePlainText(quick, 'regular');
    expect(shown(quick.layoutRun('1234', ['tnum']))).to.deep.equal(shown(whole.layoutRun('1234', ['tnum'])));
  });
});
