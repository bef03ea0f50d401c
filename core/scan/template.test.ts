import { expect } from 'chai';
import fc from 'fast-check';
import { templateOf } from './site.ts';

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
    ['/#contact', '/#/contact'],
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

  it('does not depend on how the names of query parameters are written', () => {
    const name = fc.constantFrom('a', 'b', 'a-b', 'a.b', 'page', 'A', 'ab');
    const value = fc.constantFrom('', '1', 'a=b', '%26', '+', 'ä');
    fc.assert(
      fc.property(fc.array(fc.tuple(name, value, fc.boolean()), { minLength: 1, maxLength: 5 }), (parameters) => {
        const written = (encodes: boolean): string =>
          parameters
            .map(([text, is, encoded]) => `${encodes && encoded ? `%${text.charCodeAt(0).toString(16)}${text.slice(1)}` : text}=${is}`)
            .join('&');
        expect(keyOf(`/page?${written(true)}`)).to.equal(keyOf(`/page?${written(false)}`));
        const names = [...new Set(parameters.map(([text]) => text))].sort();
        expect(keyOf(`/page?${written(false)}`)).to.equal(`/page?${names.join('&')}`);
      }),
    );
  });
});
