import { expect } from 'chai';
import type { ReportNode } from '../schema/page.ts';
import { distinctNames, elementNames } from './element-names.ts';

type Example = Pick<ReportNode, 'selector' | 'html' | 'landmark' | 'contrast'>;
const cause = (title: string, html: string, more: Partial<Example> = {}) => ({
  title,
  example: { selector: 'x', html, landmark: null, ...more },
});
type Cause = ReturnType<typeof cause>;
const namesOf = (...causes: Cause[]): (string | undefined)[] => {
  const names = distinctNames(causes, ({ title }) => title);
  return causes.map((one) => names.get(one));
};

describe('the names of root causes', () => {
  const names: [what: string, html: string, more: Partial<Example>, name: string][] = [
    ['the component and the landmark', '<a class="logo" href="/"><img></a>', { landmark: 'banner' }, 'header a.logo'],
    ['the developer\u2019s part of classes', '<p class="Card_text__x7Yp2 css-1dbjc4n p-4 is-open svelte-1tky8bj"></p>', {}, 'p.Card_text'],
    ['an ID', '<input type="text" id="street">', { landmark: 'main' }, 'main input#street'],
    ['a kind, if the ID is generated', '<input type="email" id=":r1:">', {}, 'input[email]'],
    ['a text, if there is no name', '<a href="/a">About us</a>', { landmark: 'contentinfo' }, 'footer a “About us”'],
    ['a text as it is read', '<button>Terms &amp; conditions<style>.a { color: red }</style></button>', {}, 'button “Terms & conditions”'],
    ['no data', '<img src="data:image/png;base64,iVBORw0KGgo=">', {}, 'img'],
    ['a picture, if there is no text', '<img src="/a/team.jpg?v=1">', {}, 'img “team.jpg”'],
  ];
  for (const [what, html, more, name] of names) it(`have ${what}`, () => expect(namesOf(cause('a', html, more))).to.deep.equal([name]));

  it('have a text, colours or more of the element where they would be the same', () => {
    const contrast = (foreground: string) => ({ foreground, background: '#ffffff', ratio: 2, required: 4.5 });
    expect(
      namesOf(
        cause('a', '<button class="b" aria-label="Open"></button>'),
        cause('a', '<button class="b">Close</button>'),
        cause('b', '<button class="b">Close</button>'),
      ),
    ).to.deep.equal(['button.b “Open”', 'button.b “Close”', 'button.b']);
    expect(
      namesOf(
        cause('a', '<p class="b">x</p>', { contrast: contrast('#777777') }),
        cause('a', '<p class="b">x</p>', { contrast: contrast('#999999') }),
      ),
    ).to.deep.equal(['p.b #777777 on #ffffff', 'p.b #999999 on #ffffff']);
    expect(
      namesOf(cause('a', '<p class="b">', { selector: 'p:nth-child(1)' }), cause('a', '<p class="b">', { selector: 'li > p' })),
    ).to.deep.equal(['p:nth-child(1)', 'li > p']);
  });

  it('are never the same, short and well formed', () => {
    const long = cause('a', `<img alt="${'😀'.repeat(60)}" class="${'x'.repeat(80)}">`, {
      selector: `html > body > ${'div:nth-child(2) > '.repeat(9)}img`,
    });
    const all = namesOf(long, { ...long }, { ...long });
    expect(new Set(all).size).to.equal(3);
    for (const name of all) {
      expect(name!.length).to.be.at.most(64);
      expect(name!.isWellFormed()).to.equal(true);
    }
  });

  it('are only needed for causes that share their title with another one', () => {
    const causes = [cause('Images', '<img class="hero">'), cause('Labels', '<input>'), cause('Images', '<img class="logo">')];
    expect([...elementNames(causes, ({ title }) => title).values()]).to.deep.equal(['img.hero', 'img.logo']);
  });
});
