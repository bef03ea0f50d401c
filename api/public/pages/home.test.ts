import { expect } from 'chai';
import fc from 'fast-check';
import { LOCALES } from '../../../core/scan/locales.ts';
import { formOf } from '../../web/html-scope.ts';
import type { PublicScanRefusal } from '../request-public-scan.ts';
import { describeRefusal, readScanForm } from './home.ts';
import { WORDS } from '../../../report/words/words.ts';

const EMAIL = 'ann@example.com';
const read = (fields: Record<string, unknown>) => readScanForm(formOf(fields), 'en');
const { refused } = WORDS.en.publicPages;

describe('the form of a public scan', () => {
  for (const [typed, url] of [
    ['https://example.com/', 'https://example.com/'],
    [' http://example.com/a?b=c ', 'http://example.com/a?b=c'],
    ['example.com', 'https://example.com'],
    ['www.example.com/path', 'https://www.example.com/path'],
    ['example.com:8443/x', 'https://example.com:8443/x'],
  ] as const)
    it(`reads ${JSON.stringify(typed)} as ${url}`, () => {
      expect(read({ url: typed, email: EMAIL, 'cf-turnstile-response': 't' })).to.deep.equal({
        ok: true,
        url,
        httpFallback: !/^\w+:\/\//.test(typed.trim()),
        email: EMAIL,
        turnstileToken: 't',
      });
    });

  for (const [name, fields, errors] of [
    ['nothing', {}, { url: refused.urlMissing, email: refused.emailMissing }],
    ['an address with spaces', { url: 'exa mple', email: EMAIL }, { url: refused.urlInvalid }],
    [
      'a very long address',
      { url: `https://example.com/${'a'.repeat(2048)}`, email: EMAIL },
      { url: refused.urlTooLong.replace('{max}', '2,048') },
    ],
    ['an e-mail address that REST refuses', { url: 'example.com', email: 'ann.@exa_mple.com' }, { email: refused.emailInvalid }],
  ] as const)
    it(`says what is wrong with ${name}`, () => {
      const result = read(fields);
      expect(result.ok).to.equal(false);
      if (!result.ok) expect(Object.fromEntries(result.errors.map(({ field, text }) => [field, text]))).to.deep.equal(errors);
    });

  it('never throws, whatever is sent', () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.constantFrom('url', 'email', 'x'), fc.oneof(fc.string(), fc.array(fc.string()), fc.constant(null))),
        (body) => void read(body),
      ),
    );
  });
});

const REFUSALS: [refusal: PublicScanRefusal, status: number, retryAfterSeconds: number | null][] = [
  [{ ok: false, reason: 'public_scans_disabled' }, 403, null],
  [{ ok: false, reason: 'turnstile_refused' }, 422, null],
  [{ ok: false, reason: 'turnstile_unavailable' }, 503, 60],
  [{ ok: false, reason: 'in_progress' }, 503, 60],
  [{ ok: false, reason: 'dns_unavailable' }, 503, 60],
  [{ ok: false, reason: 'queue_paused' }, 503, 180],
  [{ ok: false, reason: 'queue_full' }, 503, 180],
  [{ ok: false, reason: 'organisation_full' }, 503, 180],
  [{ ok: false, reason: 'resource_rejected' }, 500, null],
  [{ ok: false, reason: 'rate_limited', states: [], retryAfterSeconds: 61 }, 429, 61],
  ...(['not_a_url', 'too_long', 'scheme', 'credentials', 'port', 'private_address', 'unresolvable'] as const).map(
    (reason): [PublicScanRefusal, number, null] => [{ ok: false, reason: 'target_refused', target: { reason, message: '' } }, 422, null],
  ),
];

describe('a refused public scan', () => {
  for (const [refusal, status, retryAfterSeconds] of REFUSALS) {
    const name = refusal.reason === 'target_refused' ? `target_refused: ${refusal.target.reason}` : refusal.reason;
    it(`for ${name} has status ${status} and a text in every language`, () => {
      const answers = LOCALES.map((locale) => describeRefusal(refusal, locale));
      for (const answer of answers) {
        expect(answer).to.include({ status, retryAfterSeconds });
        expect(answer.errors).to.have.length(1);
        expect(answer.errors[0]!.text)
          .to.match(/^\p{Lu}.*\.$/u)
          .and.not.match(/[{}]/);
        expect(answer.errors[0]!.field).to.equal(refusal.reason === 'target_refused' ? 'url' : null);
      }
      expect(new Set(answers.map(({ errors }) => errors[0]!.text)).size).to.equal(LOCALES.length);
    });
  }
});
