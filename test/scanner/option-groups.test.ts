/** Our rule about groups of radio buttons and checkboxes without a name. */
import { expect } from 'chai';
import { host, itNeedsReview, reviewCases, scanCases } from './cases.ts';

const RULE = 'option-group-name';

/** Two options with labels; the first one has the ID of the case. `NAME` differs in each case. */
const options = (type: 'radio' | 'checkbox', more = ''): string =>
  `<label><input type="${type}" name="NAME" id="ID" ${more}> One</label> <label><input type="${type}" name="NAME" ${more}> Two</label>`;
const RADIOS = options('radio');
const BOXES = options('checkbox');
const row = (label: string, cell: string): string => `<tr><th scope="row">${label}</th><td>${cell}</td></tr>`;

const WRONG: Record<string, string> = {
  'radio buttons': RADIOS,
  checkboxes: BOXES,
  'checkboxes with the name of a list': BOXES.replaceAll('NAME', 'NAME[]'),
  'in a form': `<form>${RADIOS}</form>`,
  'after a heading': `<h2>Size</h2>${RADIOS}`,
  'after a text': `<p>Which size?</p><div>${RADIOS}</div>`,
  'in a fieldset without a legend': `<fieldset>${RADIOS}</fieldset>`,
  'in a fieldset with an empty legend': `<fieldset><legend> </legend>${RADIOS}</fieldset>`,
  'in a fieldset with a hidden legend': `<fieldset><legend hidden>Size</legend>${RADIOS}</fieldset>`,
  'in a fieldset with a legend in another element': `<fieldset><div><legend>Size</legend></div>${RADIOS}</fieldset>`,
  'in a fieldset with the legend of an inner one': `<fieldset><fieldset><legend>Other</legend></fieldset>${RADIOS}</fieldset>`,
  'in a group without a name': `<div role="radiogroup">${RADIOS}</div>`,
  'in a group whose name does not exist': `<div role="group" aria-labelledby="no-such-element">${BOXES}</div>`,
  'with a label on an element that is no group': `<div aria-label="Size">${RADIOS}</div>`,
  'with a legend around only one of them':
    `<fieldset><legend>Size</legend><label><input type="radio" name="NAME"> One</label></fieldset><label><input type="radio" name="NAME"> Two</label>`.replace(
      'name="NAME"',
      'name="NAME" id="ID"',
    ),
  'in a named region with other fields': `<section aria-label="Order">${RADIOS}<label>Name <input></label></section>`,
  'in a named form with other fields': `<form aria-label="Order">${RADIOS}<label>Name <input></label></form>`,
  'in a table without headers': `<table role="presentation"><tr><td>${RADIOS}</td></tr></table>`,
  'with labels that differ': `<span id="ID-1">One</span><span id="ID-2">Two</span><input type="radio" name="NAME" id="ID" aria-labelledby="ID-1"><input type="radio" name="NAME" aria-labelledby="ID-2">`,
  'in a list': `<ul><li><label><input type="checkbox" name="NAME" id="ID"> One</label><li><label><input type="checkbox" name="NAME"> Two</label></ul>`,
  'one of which is disabled': RADIOS.replace('> Two', ' disabled> Two'),
  'of another form, associated by its ID': `<form id="ID-form"></form>${options('radio', 'form="ID-form"')}`,
  'in an open shadow root': host('open', RADIOS),
  'in a closed shadow root': host('closed', RADIOS),
};

const RIGHT: Record<string, string> = {
  'in a fieldset with a legend': `<fieldset><legend>Size</legend>${RADIOS}</fieldset>`,
  'in a fieldset whose legend is only for screen readers': `<fieldset><legend style="position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%)">Size</legend>${RADIOS}</fieldset>`,
  'in a fieldset with a heading as legend': `<fieldset><legend><h2>Size</h2></legend><div><ul><li>${BOXES}</ul></div></fieldset>`,
  'in a fieldset with an ARIA name': `<fieldset aria-label="Size">${RADIOS}</fieldset>`,
  'in an outer fieldset with a legend': `<fieldset><legend>Size</legend><fieldset>${RADIOS}</fieldset></fieldset>`,
  'in a group with a label': `<div role="group" aria-label="Size">${BOXES}</div>`,
  'in a group named by a heading': `<h2 id="ID-name">Size</h2><div role="radiogroup" aria-labelledby="ID-name">${RADIOS}</div>`,
  'in a group with a title': `<div role="radiogroup" title="Size">${RADIOS}</div>`,
  'in a named region of their own': `<section aria-label="Size">${RADIOS}<button>Send</button></section>`,
  'in a named form of their own': `<form aria-label="Which size?">${RADIOS}<input type="hidden" name="a"><input type="submit"></form>`,
  'in a named dialog of their own': `<div role="dialog" aria-label="Choose a size">${RADIOS}</div>`,
  'in details with a summary': `<details open><summary>Size</summary>${BOXES}</details>`,
  'in the rows of a table with headers': `<table><tr><th>Name<th>Choose</tr>${row('One', '<input type="radio" name="NAME" id="ID" aria-label="One">')}${row('Two', '<input type="radio" name="NAME" aria-label="Two">')}</table>`,
  'that select rows': `<table><caption>Files</caption><tr><td><input type="checkbox" name="NAME" id="ID" aria-label="a"><tr><td><input type="checkbox" name="NAME" aria-label="b"></table>`,
  'whose labels share the question': `<span id="ID-q">Size?</span><input type="radio" name="NAME" id="ID" aria-labelledby="ID-q ID"><input type="radio" name="NAME" aria-labelledby="ID-q other">`,
  'a single checkbox': `<label><input type="checkbox" name="NAME" id="ID"> I agree</label>`,
  'a single checkbox with the hidden field of a framework': `<input type="hidden" name="NAME" value="0"><label><input type="checkbox" name="NAME" id="ID"> I agree</label>`,
  'checkboxes with different names': `<label><input type="checkbox" name="NAME-1" id="ID"> One</label><label><input type="checkbox" name="NAME-2"> Two</label>`,
  'without names': `<label><input type="checkbox" id="ID"> One</label><label><input type="checkbox"> Two</label>`,
  'the same name in two forms': `<form><label><input type="checkbox" name="NAME" id="ID"> One</label></form><form><label><input type="checkbox" name="NAME"> One</label></form>`,
  'the same name as a radio button and as a checkbox': `<label><input type="radio" name="NAME" id="ID"> One</label><label><input type="checkbox" name="NAME"> Two</label>`,
  'the same name in two shadow roots': `${host('open', '<label><input type="checkbox" name="NAME" id="ID"> One</label>')}${host('open', '<label><input type="checkbox" name="NAME"> One</label>')}`,
  switches: options('checkbox', 'role="switch"'),
  'that are disabled': options('radio', 'disabled'),
  'in a disabled fieldset': `<fieldset disabled>${RADIOS}</fieldset>`,
  'that are hidden': `<div hidden>${RADIOS}</div>`,
  'that are hidden from screen readers': `<div aria-hidden="true">${options('radio', 'tabindex="-1"')}</div>`,
  'all but one of them hidden': `<label><input type="radio" name="NAME" id="ID"> One</label><div hidden><input type="radio" name="NAME"></div>`,
  'in an open shadow root whose host is in a fieldset': `<fieldset><legend>Size</legend>${host('open', RADIOS)}</fieldset>`,
  'in a closed shadow root whose host is in a group': `<div role="radiogroup" aria-label="Size">${host('closed', RADIOS)}</div>`,
  'in the slot of a fieldset': host('open', '<fieldset><legend>Size</legend><slot></slot></fieldset>', RADIOS),
  'in the slot of a fieldset of a closed shadow root': host('closed', '<fieldset><legend>Size</legend><slot></slot></fieldset>', RADIOS),
};

const named = (html: string, at: number): string => html.replaceAll('NAME', `name-${at}`);
const CASES = reviewCases(WRONG, RIGHT).map((one, at) => ({ ...one, html: named(one.html, at) }));

describe('groups of options without a name', () => {
  itNeedsReview('need review, once for each group,', RULE, CASES);

  it('are described in the language of the scan, with the other options', async () => {
    const page = await scanCases(CASES.slice(0, 1), { locale: 'de' });
    const finding = page.needs_review.find(({ rule }) => rule === RULE)!;
    expect(finding).to.deep.include({
      impact: 'moderate',
      wcag: ['1.3.1'],
      help: 'Gruppen von Optionsfeldern und Kontrollkästchen sollen einen Namen haben',
      help_url: 'https://www.w3.org/WAI/WCAG22/Techniques/html/H71',
    });
    expect(finding.nodes[0]!.failure_summary).to.include('keine gemeinsame Beschriftung');
    expect(finding.nodes[0]!.related).to.have.length(1);
  });
});
