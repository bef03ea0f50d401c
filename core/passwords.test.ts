import { expect } from 'chai';
import fc from 'fast-check';
import { PASSWORD_MAX_CHARACTERS, PASSWORD_MIN_CHARACTERS, passwordProblem } from './passwords.ts';

const known = ['ann.miller@acme-shoes.example', 'Acme Shoes'];

describe('passwordProblem', () => {
  const rejected: [password: string, problem: string][] = [
    ['', 'too_short'],
    ['14 characters!', 'too_short'],
    ['x'.repeat(PASSWORD_MAX_CHARACTERS + 1), 'too_long'],
    ['aaaaaaaaaaaaaaa', 'expected'],
    ['abcabcabcabcabc', 'expected'],
    ['Password 2026 !!', 'expected'],
    ['!!!password12345', 'expected'],
    ['correct horse battery staple', 'expected'],
    ['1234567890123456', 'expected'],
    ['qwertyuiopasdfgh', 'expected'],
    ['zyxwvutsrqponmlk', 'expected'],
    ['curbcut-curbcut-curbcut', 'expected'],
    ['ann.miller@acme-shoes.example', 'expected'],
    ['AcmeShoes2026!!!', 'expected'],
    ['Miller1234567890', 'expected'],
    ['ｐａｓｓｗｏｒｄ１２３４５６７', 'expected'],
  ];
  for (const [password, problem] of rejected)
    it(`rejects ${JSON.stringify(password.slice(0, 40))} as ${problem}`, () => {
      expect(passwordProblem(password, { known })).to.equal(problem);
    });

  for (const accepted of [
    'seven blue bicycles',
    'æøå ßüß ąęł 你好 mixed',
    'nine-tin-kettles-hum',
    '🦊🦊🐙🐙🌵🌵🍉🍉🚲🚲🎻🎻🧭🧭🪁',
    'x7Qk2vLm9RtYp4W',
  ])
    it(`accepts ${accepted}`, () => {
      expect(passwordProblem(accepted, { known })).to.equal(null);
    });

  it('counts characters, and accepts at least 64 of any kind', () => {
    expect(passwordProblem('🦊'.repeat(PASSWORD_MIN_CHARACTERS - 1))).to.equal('too_short');
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 48, maxLength: 64 }), (bytes) => {
        fc.pre(new Set(bytes).size > 20);
        expect(passwordProblem(Buffer.from(bytes).toString('base64'))).to.equal(null);
      }),
      { numRuns: 50 },
    );
  });
});
