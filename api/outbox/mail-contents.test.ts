import { expect } from 'chai';
import { LOCALES, type Locale } from '../../core/scan/locales.ts';
import { context, doneWith, GROUPS, SAMPLES, scanResult } from '../../test/support/mail-samples.ts';
import { elementText, oneLine, renderInvitation, renderScanResult } from './mail-contents.ts';
import { ruleText } from '../../report/rule-texts/rule-texts.ts';
import { WORDS } from '../../report/words/words.ts';

const DISCLAIMERS: Record<Locale, string> = {
  en: 'Findings are automated test results only and are not compliance evidence or legal certification.',
  de: 'weder ein Konformitätsnachweis noch eine rechtliche Zertifizierung',
  fr: 'ni une preuve de conformité ni une certification juridique',
  nl: 'geen bewijs van conformiteit en geen juridische certificering',
  pl: 'nie stanowią dowodu zgodności ani certyfikatu prawnego',
};
/** The words of an HTML mail, without its style sheet, the headings of columns and the words before a button's address. */
const wordsOf = (html: string): string =>
  html
    .replace(/<(style|title)>.*?<\/\1>|<th scope="col".*?<\/th>|>[^<]*<br \/>(?=<a class="link")/gs, ' ')
    .replace(/<[^>]+>/g, ' ')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&nbsp;', ' ')
    .replaceAll('&amp;', '&') // prettier-ignore
    .replace(/\s+/g, ' ');

describe('mails', () => {
  for (const locale of LOCALES)
    for (const [kind, render] of Object.entries(SAMPLES))
      it(`are complete: ${kind} in ${locale}`, () => {
        const { subject, html, text } = render(locale);
        for (const content of [subject, html.replace(/<style>.*<\/style>/s, ''), text])
          expect(content).not.to.match(/\{\w*\}|undefined|null|NaN|\[object/);
        expect(subject).to.match(/^[^\r\n]{10,200}$/);
        expect(html)
          .to.include(`<html lang="${locale}"`)
          .and.match(/<h1[ >]/);
        expect(html).not.to.match(/<(img|script|link|iframe)\b|url\(|@import/);
        for (const table of html.match(/<table[^>]*>/g)!) expect(table).to.match(/role="presentation"|class="line"/);
        const words = wordsOf(html);
        // What is marked differently in the two versions is compared without its marks.
        const wordsOfText = text.split(/[\s:*=·.–-]+/).filter((word) => /^\p{L}{4,}$/u.test(word));
        for (const word of wordsOfText) expect(words).to.include(word);
        const compact = text.replace(/[\s:]+/g, '');
        for (const word of words.match(/\p{L}{5,}/gu)!.filter((one) => one !== 'Curbcut')) expect(compact).to.include(word);
        const isResult = !/^(invitation|password-reset|notice-|owner-|webhook-)/.test(kind);
        const hasFindings = isResult && kind !== 'scan-failed';
        for (const version of [words, text.replace(/\s+/g, ' ')]) expect(version.includes(DISCLAIMERS[locale])).to.equal(hasFindings);
        expect(html.includes('/unsubscribe/')).to.equal(isResult);
        expect(text.includes('/unsubscribe/')).to.equal(isResult);
      });

  it('show the five worst findings with help in the language of the mail, and say how many more there are', () => {
    const { html, text } = SAMPLES['done']!('de');
    const flat = (content: string): string => content.replace(/\s+/g, ' ');
    const textsOf = (rule: string) => ruleText(rule, 'de')!;
    for (const { rule } of GROUPS.slice(0, 5)) expect(flat(text)).to.include(textsOf(rule).help).and.include(textsOf(rule).fix);
    for (const content of [html, text]) expect(flat(content)).not.to.include(textsOf('skip-link').help);
    expect(text).to.include('Die Ergebnisseite zeigt 1 weitere Ursache.');
  });

  it('show the measured contrast with both colours, and draw only what is a colour', () => {
    const { html, text } = SAMPLES['done']!('de');
    const flat = text.replace(/\s+/g, ' ');
    expect(flat).to.include('Kontrast 3,45:1, erforderlich 4,5:1 · Text #8a8a8a · Hintergrund #ffffff · 16 px, fett');
    expect(html).to.include('background-color:#8a8a8a').and.include('background-color:#ffffff');
    const ended = doneWith(1);
    const contrast = { foreground: 'red;x:y', background: '#fff', ratio: 3.45, required: 4.5 };
    if (ended.phase === 'done') ended.view!.groups = [{ ...GROUPS[2]!, example: { ...GROUPS[2]!.example, contrast } }];
    expect(renderScanResult(scanResult({ ended }), context('de')).html)
      .to.include('Text red;x:y')
      .and.not.include('background-color:red');
  });

  it('say why a scan failed in their language, and keep the message of the scanner apart', () => {
    const { reasons, notCounted, details } = WORDS.de.publicPages.failed;
    const failed = SAMPLES['failed']!('de').text.replace(/\s+/g, ' ');
    expect(failed).to.include(reasons.unreachable).and.not.include(notCounted).and.not.include('charged');
    expect(failed).to.match(new RegExp(`${details.replace(/[()]/g, '.')}: .* HTTP status 403\\.`));
    const ours = SAMPLES['failed-ours']!('de').text.replace(/\s+/g, ' ');
    expect(ours).to.include(reasons.ours).and.include(notCounted).and.not.include(WORDS.de.mail.result.failed.todo);
  });

  it("show the scanner's own help if a rule has no texts", () => {
    const ended = doneWith(1);
    if (ended.phase === 'done') ended.view!.groups = [{ ...GROUPS[0]!, rule: 'new-rule' }];
    const { text } = renderScanResult(scanResult({ ended }), context('en'));
    expect(text).to.include('Images must have alternative text').and.not.include('How to fix it');
  });

  it('escape the texts of tested pages, and keep their addresses from becoming links', () => {
    const html =
      '<a href="http://evil.example/?a=1&b=2" onclick="alert(\'x\')">www.evil.example mail@evil.example</a>\u0000\u202Etxt\r\n\r\nSubject: x';
    const hostile = { ...GROUPS[0]!, rule: 'new-rule', help: '<script>alert(1)</script>', example: { ...GROUPS[0]!.example, html } };
    const ended = doneWith(1);
    if (ended.phase === 'done') ended.view!.groups = [hostile];
    const url = 'https://shop.example.com/<script>alert(1)</script>\r\nBcc: x';
    const mail = renderScanResult(scanResult({ ended, url }), context('en'));
    expect(mail.html)
      .not.to.include('<script')
      .and.not.include('<a href="http://evil')
      .and.not.match(/onclick="/);
    expect(mail.html).to.include('&lt;script&gt;alert(1)&lt;/script&gt;');
    for (const content of [mail.html, mail.text]) {
      expect(content).not.to.match(/evil\.example|:\/\/evil|mail@evil|[\u0000\u202E\r]/);
      expect(content.replaceAll('\u2060', '')).to.include('http://evil.example');
    }
    expect(mail.html.match(/href="[^"]*"/g)!.filter((href) => !href.startsWith('href="https://curbcut.example.com/'))).to.deep.equal([]);
  });

  it('link to the legal notice and the privacy policy of the operator, if they are set', () => {
    const legal = { imprint: 'https://example.com/imprint', privacy: 'https://example.com/privacy' };
    const { html, text } = renderScanResult(scanResult(), { ...context('de'), legal });
    expect(html).to.include('href="https://example.com/imprint"').and.include('Datenschutz');
    expect(text).to.match(/Impressum:?\s+https:\/\/example\.com\/imprint/);
    expect(SAMPLES['done']!('de').text).to.not.include('Impressum');
  });

  it('have a subject of one line whatever people enter', () => {
    const data = { organisation: 'Acme\r\nBcc: all@example.com', invitedBy: '"<b>Ada</b>"@example.com', url: 'https://curbcut.example.com/x', expiresAt: '2026-11-22T10:05:00Z' }; // prettier-ignore
    const { subject, html } = renderInvitation(data, context('en'));
    expect(subject).to.equal('Invitation to Acme Bcc: all@example.com on Curbcut');
    expect(html).to.include('&lt;b&gt;').and.not.include('<b>');
  });

  it('cut long texts between characters', () => {
    expect(oneLine('a😀😀😀', 3)).to.equal('a😀…');
    expect(oneLine(' a\t\u0007b\u200b ', 10)).to.equal('a b');
    expect(elementText('x'.repeat(500))).to.have.lengthOf(240);
    expect(elementText('<p>a. b</p>')).to.equal('<p>a. b</p>');
  });
});
