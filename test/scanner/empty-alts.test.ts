/** Our rule about images with an empty text alternative and a title. */
import { host, itNeedsReview, reviewCases } from './cases.ts';

const RULE = 'empty-alt-with-title';
const SRC =
  "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' width='20' height='20'%3E%3Crect width='20' height='20'/%3E%3C/svg%3E";

const image = (more = 'title="Our shop"', alt = 'alt=""'): string => `<img id="ID" src="${SRC}" ${alt} ${more}>`;
const IMAGE = image();

const WRONG: Record<string, string> = {
  'an image': IMAGE,
  'with an alt attribute without a value': image(undefined, 'alt'),
  'in a paragraph': `<p>Some text ${IMAGE} and more</p>`,
  'in a link with another text': `<a href="/">${IMAGE} Start</a>`,
  'in a link without a text': `<a href="/" aria-label="Start">${IMAGE}</a>`,
  'in a button with another text': `<button>${IMAGE} Send</button>`,
  'in a figure with another caption': `<figure>${IMAGE}<figcaption>The harbour</figcaption></figure>`,
  'in a figure without a caption': `<figure>${IMAGE}</figure>`,
  'beside the text of the title, in no common element': `<p>Our shop</p><p>${IMAGE}</p>`,
  'in a link whose hidden text is the title': `<a href="/">${IMAGE}<span hidden>Our shop</span> Start</a>`,
  'with a part of the title in the link': `<a href="/">${IMAGE} shop</a>`,
  'with an empty ARIA label': image('title="Our shop" aria-label=""'),
  'with an ARIA label that does not exist': image('title="Our shop" aria-labelledby="no-such-element"'),
  'with a size': image('title="Our shop" width="200" height="100"'),
  'in a picture element': `<picture>${IMAGE}</picture>`,
  'with a long title': image(`title="${'A map of all our shops in the country. '.repeat(10)}"`),
  'with a title in another alphabet': image('title="Магазин"'),
  'that is lazy': image('title="Our shop" loading="lazy" width="20" height="20"'),
  'in a table': `<table><tr><td>${IMAGE}</td></tr></table>`,
  'in an open shadow root': host('open', IMAGE),
  'in a closed shadow root': host('closed', IMAGE),
  'in the slot of a shadow root': host('open', '<p><slot></slot></p>', IMAGE),
};

const RIGHT: Record<string, string> = {
  'without a title': image(''),
  'with an empty title': image('title=""'),
  'with a title of spaces': image('title="  "'),
  'with a text alternative and a title': image(undefined, 'alt="The front of our shop"'),
  'without a text alternative, which axe-core judges': image(undefined, ''),
  'with a text alternative of spaces, which axe-core judges': image(undefined, 'alt=" "'),
  'with the role presentation': image('title="Our shop" role="presentation"'),
  'with the role none': image('title="Our shop" role="none"'),
  'with the role img, which axe-core judges': image('title="Our shop" role="img"'),
  'with an ARIA label': image('title="Our shop" aria-label="Our shop"'),
  'with the label of another element': `<p id="ID-l">Our shop</p>${image('title="x" aria-labelledby="ID-l"')}`,
  'in a link with the text of the title': `<a href="/">${IMAGE} Our shop</a>`,
  'in a link with more than the text of the title': `<a href="/">${IMAGE} Visit OUR  shop today</a>`,
  'in a button with the text of the title': `<button>${IMAGE} Our shop</button>`,
  'in an element with the role of a link': `<span role="link" tabindex="0">${IMAGE} Our shop</span>`,
  'in a figure with the caption of the title': `<figure>${IMAGE}<figcaption>Our shop</figcaption></figure>`,
  'in a label with the text of the title': `<label><input type="checkbox"> ${IMAGE} Our shop</label>`,
  'that is hidden': image('title="Our shop" hidden'),
  'that is hidden from screen readers': image('title="Our shop" aria-hidden="true"'),
  'that is invisible': image('title="Our shop" style="visibility: hidden"'),
  'that counts visitors': image('title="Our shop" width="1" height="1"'),
  'another element': `<div id="ID" title="Our shop">x</div>`,
  'in an open shadow root, with the text of its link': host('open', `<a href="/">${IMAGE} Our shop</a>`),
  'in the slot of a link with the text': host('closed', '<a href="/"><slot></slot> Our shop</a>', IMAGE),
};

const CASES = reviewCases(WRONG, RIGHT);

describe('images with an empty text alternative and a title', () => {
  itNeedsReview('need review', RULE, CASES);
});
