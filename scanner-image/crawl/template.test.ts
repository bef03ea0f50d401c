import { expect } from 'chai';
import fc from 'fast-check';
import { templateOf } from './template.ts';

const keyOf = (path: string): string => templateOf(new URL(path, 'https://example.org'));

describe('template of a page', () => {
  const CASES: [path: string, key: string][] = [
    ['/', '/'],
    ['/about', '/about'],
    ['/about/', '/about'],
    ['/de/kontakt', '/*/*'],
    ['/pt-br', '/*'],
    ['/products', '/products'],
    ['/products/red-shoe', '/products/*'],
    ['/products/red-shoe/', '/products/*'],
    ['/products/red-shoe.html', '/products/*.html'],
    ['/products/red-shoe.HTML', '/products/*.html'],
    ['/products/17/reviews/4', '/products/*/reviews/*'],
    ['/2024/05/a-post', '/*/*/*'],
    ['/how-we-test-pages', '/*'],
    ['/page.php?id=7', '/page.php?id'],
    ['/page.php?tag=b&id=7&id=8', '/page.php?id&tag'],
    ['/page.php?b=1&a', '/page.php?a&b'],
    ['/page.php?b=%20&a=1', '/page.php?a&b'],
    ['/page.php?b=2&a=1', '/page.php?a&b'],
    ['/page.php?%C3%A4=1&z=1', '/page.php?%C3%A4&z'],
    ['/page.php?', '/page.php'],
    ['/#/settings', '/#/settings'],
    ['/#/users/4', '/#/users/*'],
    ['/#!/users/4', '/#/users/*'],
    ['/#contact', '/'],
  ];
  for (const [path, key] of CASES) it(`is ${key} for ${path}`, () => expect(keyOf(path)).to.equal(key));

  it('does not depend on the values of IDs and query parameters', () => {
    fc.assert(
      fc.property(fc.nat(), fc.nat(), fc.string(), fc.string(), (one, other, value, another) => {
        const query = (text: string): string => `q=${encodeURIComponent(text)}`;
        expect(keyOf(`/items/${one}/edit?${query(value)}`)).to.equal(keyOf(`/items/${other}/edit?${query(another)}`));
      }),
    );
  });
});
