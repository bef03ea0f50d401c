import { expect } from 'chai';
import { IMPACTS } from '../../core/scan/impacts.ts';
import { contrast } from '../../test/support/contrast.ts';
import { GROUND, INK, LINK, SEVERITIES, SOFT, TYPE, VERDICTS } from './palette.ts';

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
