import { expect } from 'chai';
import fc from 'fast-check';
import { CHAT_FORMATS } from './chat.ts';

const LINK = { text: 'Open', url: 'https://curbcut.example.com/' };
const messageOf = (format: keyof typeof CHAT_FORMATS, headline: string, facts: string[]) =>
  CHAT_FORMATS[format]({ headline, facts, link: LINK }) as {
    text: string;
    blocks: [{ text: { text: string; verbatim: boolean } }];
    attachments: [{ contentType: string; content: { body: { type: string; text: string }[]; actions: object[] } }];
  };
const EVIL = '*all* @here <!channel> <at>Ann</at> [Log in](https://evil.example) https://evil.example www.evil.example';

describe('messages for chat programs make no link, mention or bold text of what a site says', () => {
  it('slack', () => {
    const { text, verbatim } = messageOf('slack', 'a*b', [EVIL]).blocks[0].text;
    expect(verbatim).to.equal(true);
    expect(text).to.equal(
      '*a∗b*\n∗all∗ @here &lt;!channel&gt; &lt;at&gt;Ann&lt;/at&gt; [Log in](https://evil.example) https://evil.example www.evil.example\n<https://curbcut.example.com/|Open>',
    );
  });

  it('teams', () => {
    const { contentType, content } = messageOf('teams', 'a*b', [EVIL]).attachments[0];
    expect(contentType).to.equal('application/vnd.microsoft.card.adaptive');
    expect(content.body.map(({ type, text }) => [type, text])).to.deep.equal([
      ['TextBlock', 'a∗b'],
      ['TextBlock', '∗all∗ @here ‹!channel› ‹at›Ann‹/at› ［Log in］(https://evil.example) https://evil.example www.evil.example'],
    ]);
    expect(content).to.deep.include({ type: 'AdaptiveCard', actions: [{ type: 'Action.OpenUrl', title: 'Open', url: LINK.url }] });
    expect(content).to.not.have.property('msteams');
  });

  it('mattermost', () => {
    const [title, fact, link] = messageOf('mattermost', 'a*b', [EVIL]).text.split('\n');
    expect([title, link]).to.deep.equal(['**a\\*b**', '[Open](https://curbcut.example.com/)']);
    expect(fact).to.equal(
      '\\*all\\* ＠here ‹!channel› ‹at›Ann‹/at› \\[Log in\\](https∶//evil\\.example) https∶//evil\\.example www\\.evil\\.example',
    );
  });
});

it('messages for chat programs have at most the characters that they accept, and no part of an entity, an escape or a character', () =>
  fc.assert(
    fc.property(fc.constantFrom('&', '<', 'x', '😀', '&x', '*', '\\', '\u0001'), fc.integer({ min: 1, max: 5_000 }), (part, count) => {
      const long = part.repeat(count);
      const { text } = messageOf('slack', long, [long, long]).blocks[0].text;
      expect(text.length).to.be.at.most(3_000);
      expect(text.isWellFormed()).to.equal(true);
      expect(text.replaceAll(/&(amp|lt|gt);/g, '')).to.not.include('&');
      expect(JSON.stringify(messageOf('teams', long, [long, long])).length).to.be.at.most(28_000);
      expect(messageOf('mattermost', long, [long, long]).text.replaceAll(/\\[*\\]/g, '')).to.not.include('\\');
    }),
  ));
