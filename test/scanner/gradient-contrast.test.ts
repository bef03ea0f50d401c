/** Contrast on gradients: a violation if it is too little everywhere, and a matter for a person otherwise. */
import { expect } from 'chai';
import { expectFindings, itInEveryPlace, scanCases, type Case } from './cases.ts';

const RULE = 'color-contrast';

const text = (background: string, color: string, more = ''): string =>
  `<p id="ID" style="background: ${background}; color: ${color}; ${more}">A text on a gradient</p>`;
const within = (box: string, inner: string): string => `<div style="${box}">${inner}</div>`;
const PALE = 'linear-gradient(#fff, #eee)';
const plain = (more = ''): string => `<p id="ID" style="color: #ccc; ${more}">A text on a gradient</p>`;

const CASES: Case[] = [
  { name: 'too little at every stop', html: text(PALE, '#aaa'), finding: 'violation' },
  { name: 'three stops with places', html: text('linear-gradient(to right, #fff 10%, #f4f4f4 50%, #eee)', '#aaa'), finding: 'violation' },
  { name: 'a hint between stops', html: text('linear-gradient(#fff, 20%, #eee)', '#aaa'), finding: 'violation' },
  { name: 'a radial gradient', html: text('radial-gradient(circle at center, #fff, #eee)', '#aaa'), finding: 'violation' },
  { name: 'a conic gradient', html: text('conic-gradient(from 45deg, #fff, #eee, #fff)', '#aaa'), finding: 'violation' },
  {
    name: 'a repeating gradient',
    html: text('repeating-linear-gradient(45deg, #fff, #fff 10px, #eee 10px, #eee 20px)', '#aaa'),
    finding: 'violation',
  },
  { name: 'light on dark', html: text('linear-gradient(#000, #222)', '#555'), finding: 'violation' },
  { name: 'a gradient that changes its hue little', html: text('linear-gradient(#ffe0e0, #e0ffe0)', '#999'), finding: 'violation' },
  { name: 'a text between the stops that is near both', html: text('linear-gradient(#777, #999)', '#888'), finding: 'violation' },
  { name: 'the gradient of an ancestor', html: within(`background: ${PALE}`, within('', plain())), finding: 'violation' },
  { name: 'a gradient on another background', html: within('background: #000', text(PALE, '#ccc')), finding: 'violation' },
  { name: 'a gradient larger than its element', html: text(`${PALE} 0 0 / 200% 200% no-repeat`, '#aaa'), finding: 'violation' },
  { name: 'a large text', html: text(PALE, '#aaa', 'font-size: 40px'), finding: 'violation' },
  { name: 'enough at one stop', html: text('linear-gradient(#fff, #000)', '#aaa'), finding: 'review' },
  {
    name: 'enough for a large text at one stop',
    html: text('linear-gradient(#fff, #777)', '#909090', 'font-size: 40px'),
    finding: 'review',
  },
  // Half way from red to green the luminance is 0.09, which is less than that of both.
  { name: 'enough only between two stops, which are lighter', html: text('linear-gradient(#f00, #0f0)', '#ffe0ff'), finding: 'review' },
  { name: 'a dark text that is too near to the middle only', html: text('linear-gradient(#f00, #0f0)', '#400'), finding: 'review' },
  { name: 'a translucent stop', html: text('linear-gradient(#fff, rgb(240 240 240 / 90%))', '#aaa'), finding: 'review' },
  { name: 'a transparent stop', html: text('linear-gradient(#fff, transparent)', '#aaa'), finding: 'review' },
  { name: 'another colour space between the stops', html: text('linear-gradient(in oklch, #fff, #eee)', '#aaa'), finding: 'review' },
  { name: 'stops in another colour space', html: text('linear-gradient(oklch(1 0 0), oklch(0.95 0 0))', '#aaa'), finding: 'review' },
  { name: 'two gradients', html: text(`${PALE}, linear-gradient(#000, #000)`, '#aaa'), finding: 'review' },
  { name: 'a gradient and a picture', html: text(`${PALE}, url(/none.png)`, '#aaa'), finding: 'review' },
  { name: 'a gradient that covers a part', html: text(`${PALE} 0 0 / 50% 100% no-repeat`, '#aaa'), finding: 'review' },
  { name: 'a gradient of a fixed size', html: text(`${PALE} 0 0 / 20px 20px no-repeat`, '#aaa'), finding: 'review' },
  { name: 'a gradient that is moved', html: text(`${PALE} 40px 0 no-repeat`, '#aaa'), finding: 'review' },
  { name: 'a gradient that the text clips', html: text(PALE, '#aaa', 'background-clip: text'), finding: 'review' },
  { name: 'a translucent text', html: text(PALE, 'rgb(170 170 170 / 90%)'), finding: 'review' },
  { name: 'a text filled with another colour', html: text(PALE, '#aaa', '-webkit-text-fill-color: #000'), finding: 'review' },
  { name: 'a shadow of the text', html: text(PALE, '#aaa', 'text-shadow: 0 0 4px #000'), finding: 'review' },
  { name: 'an outline of the text', html: text(PALE, '#aaa', '-webkit-text-stroke: 1px #000'), finding: 'review' },
  { name: 'a translucent element', html: within(`background: ${PALE}`, plain('opacity: 0.9')), finding: 'review' },
  { name: 'a translucent ancestor', html: within('opacity: 0.5', text(PALE, '#aaa')), finding: 'review' },
  { name: 'a filter on an ancestor', html: within('filter: invert(1)', text(PALE, '#aaa')), finding: 'review' },
  { name: 'a blended text', html: within(`background: ${PALE}`, plain('mix-blend-mode: difference')), finding: 'review' },
  { name: 'a blended background', html: text(`${PALE} #123`, '#aaa', 'background-blend-mode: multiply'), finding: 'review' },
  { name: 'a translucent box between', html: within(`background: ${PALE}`, plain('background: rgb(0 0 0 / 50%)')), finding: 'review' },
  { name: 'an inner shadow', html: text(PALE, '#aaa', 'box-shadow: inset 0 0 0 100px #000'), finding: 'review' },
  { name: 'a masked gradient', html: text(PALE, '#aaa', 'mask-image: linear-gradient(#000, transparent)'), finding: 'review' },
  { name: 'a text beyond the gradient', html: within(`background: ${PALE}; width: 40px; white-space: nowrap`, plain()), finding: 'review' },
  {
    name: 'a value of a field',
    html: within(`background: ${PALE}`, '<input id="ID" aria-label="a" value="A value" style="background: none; color: #aaa">'),
    finding: 'violation',
  },
  {
    name: 'a value of a field beyond the gradient',
    html: within(
      `background: ${PALE}; width: 200px`,
      '<input id="ID" aria-label="a" value="A value" style="background: none; color: #aaa; width: 300px">',
    ),
    finding: 'review',
  },
  { name: 'the colour of the text', html: text('linear-gradient(#aaa, #aaa)', '#aaa'), finding: 'review' },
  { name: 'a single character', html: text(PALE, '#aaa').replace('A text on a gradient', 'x'), finding: 'review' },
  { name: 'enough everywhere', html: text(PALE, '#000'), finding: 'review' },
  { name: 'a single colour', html: text('#fff', '#aaa'), finding: 'violation' },
  { name: 'a single colour with enough contrast', html: text('#fff', '#000'), finding: null },
];

describe('contrast on a gradient', () => {
  itInEveryPlace('is a violation only if it is too little everywhere,', CASES, (page) => expectFindings(page, RULE, CASES));

  it('is described with the stop where it is best, and the gradient', async () => {
    const page = await scanCases([{ name: 'one', html: text('linear-gradient(#fff, #eee)', '#aaa'), finding: 'violation' }]);
    const [node] = page.violations.find(({ rule }) => rule === RULE)!.nodes;
    expect(node!.contrast).to.deep.equal({
      foreground: '#aaaaaa',
      background: '#ffffff',
      ratio: 2.32,
      required: 4.5,
      font_size_px: 16,
      bold: false,
    });
    expect(node!.failure_summary).to.include('insufficient color contrast of 2.32');
    expect(node!.checks).to.deep.equal([RULE]);
  });

  it('does not change with the score of a page where it is a matter for a person', async () => {
    const page = await scanCases([{ name: 'one', html: text('linear-gradient(#fff, #000)', '#aaa'), finding: 'review' }]);
    expect(page.violations).to.deep.equal([]);
    expect(page.score).to.equal(100);
  });
});
