import { expect } from 'chai';
import fc from 'fast-check';
import { compileGlob, matchesGlob } from './address.ts';

/** The definition of a glob as a regular expression. It backtracks, so it serves short texts only. */
function reference(glob: string): RegExp {
  const source = glob
    .split(/(\*\*\/?|\*)/)
    .map((part) => {
      if (part === '**') return '.*';
      if (part === '**/') return '(?:.*/)?';
      if (part === '*') return '[^/]*';
      return part.replace(/[\\^$.|?+()[\]{}]/g, '\\$&');
    })
    .join('');
  return new RegExp(`^${source}$`);
}

const matches = (glob: string, text: string): boolean => matchesGlob(compileGlob(glob), text);

describe('glob matcher', () => {
  it('agrees with the regular expression that defines a glob', () => {
    const glob = fc
      .array(fc.constantFrom('a', 'é', '/', '*', '**', '**/', '.', '+', '(', '?'), { maxLength: 6 })
      .map((parts) => parts.join(''));
    const text = fc.array(fc.constantFrom('a', 'é', '/', '.', '+', '(', '?'), { maxLength: 8 }).map((parts) => parts.join(''));
    fc.assert(
      fc.property(glob, text, (pattern, path) => {
        expect(matches(pattern, path)).to.equal(reference(pattern).test(path));
      }),
      { numRuns: 5000 },
    );
  });

  it('takes at most one step per token and character', () => {
    // It has all characters of the globs, in their order.
    const text = `/${'a'.repeat(2000)}/cb`;
    for (const glob of [`/${'*a'.repeat(8)}*b`, `${'**a'.repeat(40)}*b`, `${'**/'.repeat(100)}b`, `/${'**/'.repeat(100)}*a*b`]) {
      const compiled = compileGlob(glob);
      let steps = 0;
      expect(
        matchesGlob(compiled, text, () => (steps += 1)),
        glob,
      ).to.equal(false);
      expect(steps, glob).to.be.within(text.length, (compiled.tokens.length + 1) * (text.length + 1));
    }
  });

  it('takes no step for a text that has nothing in common with the glob, because a page may have 20,000 links', () => {
    for (const glob of ['**/part/**', '/shop/**', '/*/imprint', '/exact']) {
      let steps = 0;
      expect(
        matchesGlob(compileGlob(glob), '/a'.repeat(500), () => (steps += 1)),
        glob,
      ).to.equal(false);
      expect(steps, glob).to.equal(0);
    }
  });
});
