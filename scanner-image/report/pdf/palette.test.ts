import { expect } from 'chai';
import { IMPACTS } from '../../../core/scan/impacts.ts';
import { GROUND, INK, LINK, SEVERITIES, SOFT, TYPE, VERDICTS } from './palette.ts';

/** Relative luminance and contrast as WCAG 2.2 defines them. */
const luminance = (color: string): number => {
  const [red, green, blue] = [1, 3, 5].map((at) => {
    const part = parseInt(color.slice(at, at + 2), 16) / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  }) as [number, number, number];
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
};
const contrast = (one: string, other: string): number => {
  const [dark, light] = [luminance(one), luminance(other)].sort((a, b) => a - b) as [number, number];
  return (light + 0.05) / (dark + 0.05);
};

describe('report colours', () => {
  const white = '#ffffff';
  it('are measured as WCAG defines contrast', () => {
    expect(contrast('#000000', white)).to.equal(21);
    expect(contrast('#767676', white)).to.be.closeTo(4.54, 0.01);
  });

  for (const [name, { color }] of Object.entries(TYPE))
    it(`make ${name} readable on white and on the tinted background`, () => {
      expect(contrast(color, white)).to.be.at.least(4.5);
      expect(contrast(color, GROUND)).to.be.at.least(4.5);
    });

  for (const [name, { ground, strong }] of Object.entries(VERDICTS))
    it(`make the verdict ${name} readable on its background and on white`, () => {
      for (const color of [strong, INK, SOFT, LINK]) expect(contrast(color, ground)).to.be.at.least(4.5);
      expect(contrast(strong, white)).to.be.at.least(4.5);
    });

  for (const impact of IMPACTS)
    it(`make the icon and the bar of ${impact} visible on white and on the bar's background`, () => {
      expect(contrast(SEVERITIES[impact], white)).to.be.at.least(3);
      expect(contrast(SEVERITIES[impact], GROUND)).to.be.at.least(3);
    });
});
