import { expect } from 'chai';
import fc from 'fast-check';
import { slackMessage } from './bodies.ts';

interface Message {
  text: string;
  blocks: [{ text: { text: string; verbatim: boolean } }];
}
const messageOf = (headline: string, facts: string[]) =>
  slackMessage({ headline, facts, link: { text: 'Open', url: 'https://curbcut.example.com/' } }) as Message;

describe('messages for Slack', () => {
  it('make no link, mention or bold text of what a site says', () => {
    const { text, verbatim } = messageOf('a*b', ['*all* @here https://evil.example <!channel>']).blocks[0].text;
    expect(verbatim).to.equal(true);
    expect(text).to.equal('*a∗b*\n∗all∗ @here https://evil.example &lt;!channel&gt;\n<https://curbcut.example.com/|Open>');
  });

  it('have at most the characters that Slack accepts after escaping, and no part of an entity or a character', () =>
    fc.assert(
      fc.property(fc.constantFrom('&', '<', 'x', '😀', '&x'), fc.integer({ min: 1, max: 5_000 }), (part, count) => {
        const long = part.repeat(count);
        const { text } = messageOf(long, [long, long]).blocks[0].text;
        expect(text.length).to.be.at.most(3_000);
        expect(text.isWellFormed()).to.equal(true);
        expect(text.replaceAll(/&(amp|lt|gt);/g, '')).to.not.include('&');
      }),
    ));
});
