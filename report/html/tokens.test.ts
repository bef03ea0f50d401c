import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { contrast } from '../../test/support/contrast.ts';
import { color, COLOR_NAMES, type Mode } from '../../core/colors.ts';
import { PART_PAIRS, TEXT_PAIRS, tokensCss } from './tokens.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const MODES: Mode[] = ['light', 'dark'];

describe('design tokens', () => {
  for (const mode of MODES) {
    it(`make every text readable on its backgrounds in ${mode} mode`, () => {
      const poor = TEXT_PAIRS.map(([text, ground]) => ({
        pair: `${text} on ${ground}`,
        ratio: contrast(color(text, mode), color(ground, mode)),
      }));
      expect(poor.length).to.be.greaterThan(40);
      expect(poor.filter(({ ratio }) => ratio < 4.5)).to.deep.equal([]);
    });

    it(`make every part that is not text visible in ${mode} mode`, () => {
      const poor = PART_PAIRS.map(([part, ground]) => ({
        pair: `${part} on ${ground}`,
        ratio: contrast(color(part, mode), color(ground, mode)),
      }));
      expect(poor.filter(({ ratio }) => ratio < 3)).to.deep.equal([]);
    });
  }

  it('define each colour for both modes and for paper', () => {
    for (const name of COLOR_NAMES) expect(tokensCss().split(`--${name}:`)).to.have.length(name === 'ground' ? 5 : 4);
  });

  it('are the only colours and the only custom properties of the style sheets', () => {
    const files = globSync(['report/html/*.css', 'api/web/assets/*.css'], { cwd: ROOT });
    expect(files).to.include.members(['api/web/assets/docs.css', 'report/html/site.css']);
    const css = files.map((file) => readFileSync(join(ROOT, file), 'utf8')).join('\n');
    expect(css.match(/#[0-9a-f]{3,8}\b(?![^{}]*\{)/gi) ?? []).to.deep.equal([]);
    const used = new Set([...css.matchAll(/var\((--[a-z0-9-]+)\)/g)].map(([, name]) => name!));
    expect([...used].filter((name) => !tokensCss().includes(`${name}:`))).to.deep.equal([]);
  });
});
