import { expect } from 'chai';
import fc from 'fast-check';
import { drawnText, levelsOf, visualOrder } from './typography.ts';

/** A text as it is read on paper from left to right, for a shaper that leaves Latin and reverses Hebrew. */
function onPaper(text: string): string {
  const levels = levelsOf(text) ?? new Uint8Array(text.length);
  const shown = [...text].map((character, index) => drawnText(character, levels[index]!));
  return visualOrder([...levels])
    .map((index) => shown[index])
    .join('');
}

describe('right-to-left text', () => {
  it('is shown from right to left, with numbers and Latin words from left to right', () => {
    expect(onPaper('abc אבג 123 def')).to.equal('abc 123 גבא def');
    expect(onPaper('אבג abc 12')).to.equal('abc 12 גבא');
  });

  it('mirrors brackets', () => {
    expect(onPaper('אב (גד)')).to.equal('(דג) בא');
    expect(drawnText(' (', 1)).to.equal(') ');
  });

  it('stays in its logical order for the shaper, which reverses Hebrew and Arabic itself', () => {
    expect(drawnText('שלום', 1)).to.equal('שלום');
    expect(drawnText('مرحبا', 1)).to.equal('مرحبا');
    // Digits that fontkit takes for Arabic letters, but that are written from left to right.
    expect(drawnText('۱۲', 2)).to.equal('۲۱');
  });

  it('leaves other text alone', () => {
    expect(levelsOf('Ελληνικά 日本 abc')).to.equal(null);
    expect(drawnText('a (b)', 0)).to.equal('a (b)');
  });

  it('shows each part once', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 6 }), { maxLength: 30 }), (levels) => {
        expect(visualOrder(levels).toSorted((a, b) => a - b)).to.deep.equal(levels.map((_, index) => index));
      }),
    );
  });
});
