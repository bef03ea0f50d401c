import { expect } from 'chai';
import { color } from '../../../api/web/tokens.ts';
import { DARK, LIGHT } from './palette.ts';

describe('colours of mails', () => {
  for (const name of Object.keys(LIGHT) as (keyof typeof LIGHT)[])
    it(`are those of the web pages: ${name}`, () => {
      expect([LIGHT[name], DARK[name]]).to.deep.equal([color(name, 'light'), color(name, 'dark')]);
    });
});
