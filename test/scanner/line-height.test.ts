/** Line heights that the page's readers cannot change: axe-core's check with our count of lines. */
import { expect } from 'chai';
import { countOf, expectFindings, itInEveryPlace, scanCases, type Case } from './cases.ts';

const RULE = 'avoid-inline-spacing';
const LONG = 'The line height of this text is smaller than its font, so that its lines overlap. '.repeat(3);
const tight = 'line-height: 1 !important';

const CASES: Case[] = [
  { name: 'lines that overlap', html: `<p id="ID" style="${tight}; width: 300px">${LONG}</p>`, finding: 'violation' },
  {
    name: 'lines that overlap more',
    html: `<p id="ID" style="line-height: 0.6em !important; width: 300px">${LONG}</p>`,
    finding: 'violation',
  },
  {
    name: 'lines of a large font',
    html: `<p id="ID" style="font-size: 40px; line-height: 1.1 !important; width: 400px">${LONG}</p>`,
    finding: 'violation',
  },
  {
    name: 'lines that a br element ends',
    html: `<p id="ID" style="${tight}">First line of the address<br>Second line of the address</p>`,
    finding: 'violation',
  },
  {
    name: 'centred lines, the second one shorter',
    html: `<p id="ID" style="${tight}; text-align: center; width: 400px">A long first line in the middle of it all<br>short</p>`,
    finding: 'violation',
  },
  {
    name: 'lines with elements in them',
    html: `<p id="ID" style="${tight}; width: 200px">A text <b>with bold words</b> and <i>with words in italics</i> in it</p>`,
    finding: 'violation',
  },
  {
    name: 'lines from right to left',
    html: `<p id="ID" dir="rtl" lang="he" style="${tight}; width: 120px">זהו טקסט ארוך שנמשך על פני כמה שורות</p>`,
    finding: 'violation',
  },
  {
    name: 'a text in an element that inherits it',
    html: `<div id="ID" style="${tight}"><p style="width: 300px">${LONG}</p></div>`,
    finding: 'violation',
  },
  { name: 'one line', html: `<p id="ID" style="${tight}">One line of text</p>`, finding: null },
  { name: 'one line from right to left', html: `<p id="ID" dir="rtl" lang="he" style="${tight}">זהו <b>טקסט</b> קצר</p>`, finding: null },
  {
    name: 'one line with a subscript and a superscript',
    html: `<p id="ID" style="${tight}">Water is H<sub>2</sub>O, and energy is mc<sup>2</sup> and <sub>more</sub> of it</p>`,
    finding: null,
  },
  {
    name: 'one line of several sizes',
    html: `<p id="ID" style="${tight}">a <small>small</small> <big style="font-size: 30px">large</big> <small>small</small> word</p>`,
    finding: null,
  },
  {
    name: 'one line beside a float that begins below it',
    html: `<p id="ID" style="${tight}">One line of text <span style="float: left; font-size: 8px; margin-top: 4px">floats</span></p>`,
    finding: null,
  },
  {
    name: 'one line with an inline block in it',
    html: `<p id="ID" style="${tight}">A <span style="display: inline-block; margin-left: -4px; vertical-align: -6px">badge</span> of one line</p>`,
    finding: null,
  },
  {
    name: 'lines that are far enough apart',
    html: `<p id="ID" style="line-height: 1.5 !important; width: 300px">${LONG}</p>`,
    finding: null,
  },
  { name: 'lines that the reader can move apart', html: `<p id="ID" style="line-height: 1; width: 300px">${LONG}</p>`, finding: null },
  {
    name: 'lines that do not overlap, as axe-core finds them',
    html: `<p id="ID" style="line-height: 1.4 !important; width: 300px">${LONG}</p>`,
    finding: 'violation',
  },
  { name: 'a hidden text', html: `<p id="ID" hidden style="${tight}; width: 300px">${LONG}</p>`, finding: null },
];

describe('line heights with !important', () => {
  itInEveryPlace('are judged by the lines of the text', CASES, (page) => {
    expectFindings(page, RULE, CASES);
    expect(countOf(page, RULE)).to.equal(CASES.filter(({ finding }) => finding !== null).length);
  });

  it('are no finding at level A, where the criterion does not apply', async () => {
    const page = await scanCases(CASES.slice(0, 1), { wcagLevel: 'A' });
    expect(countOf(page, RULE)).to.equal(0);
  });
});
