import { expect } from 'chai';
import { elementNames } from './element-names.ts';

const cause = (title: string, selector: string, html = '<img>') => ({ title, example: { selector, html } });
const namesOf = (...causes: ReturnType<typeof cause>[]): (string | undefined)[] => {
  const names = elementNames(causes, ({ title }) => title);
  return causes.map((one) => names.get(one));
};

describe('elementNames', () => {
  it('names only causes that share their title with another one', () =>
    expect(namesOf(cause('Images', 'img.hero'), cause('Labels', 'input'), cause('Images', '.logo'))).to.deep.equal([
      'img.hero',
      undefined,
      '.logo',
    ]));

  it('are opening tags where the selectors are the same', () =>
    expect(
      namesOf(cause('Images', 'img', '<img class="a">'), cause('Images', 'img', '<img\n class="b"> text'), cause('Images', '.c')),
    ).to.deep.equal(['<img class="a">', '<img class="b">', '.c']));

  it('are the end of a long selector, at steps if possible', () => {
    const long = `html > body > ${'div:nth-child(2) > '.repeat(5)}img.hero`;
    const [end, cut] = namesOf(cause('Images', long), cause('Images', `.${'x'.repeat(200)}`));
    expect(end).to.equal('… > div:nth-child(2) > div:nth-child(2) > img.hero');
    expect(cut).to.match(/^…x{59}$/);
  });

  it('are short for long tags, and always well formed', () => {
    const long = (end: string) => cause('Images', 'img', `<img alt="${'😀'.repeat(60)}" ${end}>`);
    for (const name of namesOf(long('a'), long('b'), cause('Images', '🦊'.repeat(50)))) {
      expect(name!.length).to.be.at.most(60);
      expect(name!.isWellFormed()).to.equal(true);
    }
  });
});
