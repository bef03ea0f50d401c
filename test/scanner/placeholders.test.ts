/** Our rule about text fields that only a placeholder names. */
import { expect } from 'chai';
import { host, itNeedsReview, reviewCases, scanCases } from './cases.ts';

const RULE = 'placeholder-only-label';

const field = (more = '', placeholder = 'Your name'): string => `<input id="ID" placeholder="${placeholder}" ${more}>`;
const FIELD = field();

const WRONG: Record<string, string> = {
  'a text field': FIELD,
  'a field for a mail address': field('type="email"'),
  'a field for a password': field('type="password"'),
  'a field for a telephone number': field('type="tel"'),
  'a field for a number': field('type="number"'),
  'a field for an address of the web': field('type="url"'),
  'a field of an unknown type': field('type="name"'),
  'a text area': '<textarea id="ID" placeholder="Your message"></textarea>',
  'a combobox':
    field('role="combobox" aria-expanded="false" aria-controls="ID-list"') + '<ul role="listbox" id="ID-list" aria-label="a"></ul>',
  'in an empty label': `<label>${FIELD}</label>`,
  'in an empty label, with a value': `<label><textarea id="ID" placeholder="Name">Jo</textarea></label>`,
  'with an empty label': `<label for="ID"></label>${FIELD}`,
  'with the label of another field': `<label for="ID-other">Name</label><input id="ID-other">${FIELD}`,
  'with an empty ARIA label': field('aria-label=" "'),
  'with an ARIA label that does not exist': field('aria-labelledby="no-such-element"'),
  'with an empty title': field('title=""'),
  'after a text that is no label': `<p>Name</p>${FIELD}`,
  'with a description': `<p id="ID-d">As in your passport</p>${field('aria-describedby="ID-d"')}`,
  'with a value': field('value="Jo"'),
  'that is required': field('required', 'Name*'),
  'of a newsletter': `<form>${field('type="email"', 'E-mail')}<button>Subscribe</button></form>`,
  'of a search without a button': `<form role="search">${field('type="search"', 'Search')}</form>`,
  'of a search with a button without a name': `<form role="search">${field('type="search"', 'Search')}<button></button></form>`,
  'of a search with another field': `<form role="search">${field('type="search"', 'Search')}<input aria-label="Place"><button>Search</button></form>`,
  'in an open shadow root': host('open', FIELD),
  'in a closed shadow root': host('closed', FIELD),
  'in a shadow root whose label is outside': `<label for="ID">Name</label>${host('open', FIELD)}`,
};

const RIGHT: Record<string, string> = {
  'with a label': `<label for="ID">Name</label>${FIELD}`,
  'in a label': `<label>Name ${FIELD}</label>`,
  'in a label with a picture': `<label><img alt="Name" src="data:,">${FIELD}</label>`,
  'with a label that only screen readers read': `<label for="ID" style="position: absolute; width: 1px; height: 1px; overflow: hidden">Name</label>${FIELD}`,
  'with a hidden label, which axe-core judges': `<label for="ID" hidden>Name</label>${FIELD}`,
  'with an ARIA label': field('aria-label="Name"'),
  'with the label of another element': `<h2 id="ID-h">Name</h2>${field('aria-labelledby="ID-h"')}`,
  'with a title': field('title="Name"'),
  'a text area with a label': '<label>Message <textarea id="ID" placeholder="Hello"></textarea></label>',
  'without a placeholder, which axe-core judges': '<input id="ID">',
  'with an empty placeholder, which axe-core judges': field('', ' '),
  'with a placeholder of dots, which is no label': `<label>Name ${field('', '…')}</label>`,
  'of a search with a button': `<form role="search">${field('type="search"', 'Products')}<button>Search</button></form>`,
  'of a search element with a button with a picture': `<search>${field('', 'Products')}<button aria-label="Search"></button></search>`,
  'of a form with a button of the same words': `<form>${field('', 'Search products')}<input type="submit" value="Search"></form>`,
  'of a form with a picture as button of the same words': `<form>${field('', 'Search…')}<input type="image" alt="Search" src="data:,"></form>`,
  'that is disabled': field('disabled'),
  'that is disabled by ARIA': field('aria-disabled="true"'),
  'that is hidden': field('hidden'),
  'that is hidden from screen readers': `<div aria-hidden="true">${field('tabindex="-1"')}</div>`,
  'that is outside of the screen, as a trap for robots': field('style="position: absolute; left: -9999px"', 'Leave empty'),
  'of a type without placeholder': '<input type="checkbox" id="ID" placeholder="x" aria-label="a">',
  'a button': '<input type="button" id="ID" placeholder="x" value="a">',
  'in an open shadow root, with a label': host('open', `<label for="ID">Name</label>${FIELD}`),
  'in a closed shadow root, with a label': host('closed', `<label>Name ${FIELD}</label>`),
};

const CASES = reviewCases(WRONG, RIGHT);

describe('placeholders as the only label', () => {
  itNeedsReview('need review', RULE, CASES);

  it('change neither the violations nor the score of a page', async () => {
    const [only, labelled] = await Promise.all(
      [FIELD, `<label>Name ${FIELD}</label>`].map((html) => scanCases([{ name: 'one', html, finding: null }])),
    );
    expect(only!.needs_review.map(({ rule, wcag }) => [rule, wcag])).to.deep.equal([[RULE, ['3.3.2']]]);
    expect([only!.violations, only!.score, only!.rules]).to.deep.equal([[], 100, labelled!.rules]);
  });
});
