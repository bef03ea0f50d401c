import { expect } from 'chai';
import fc from 'fast-check';
import { createRedactor, MASK, redactingLogger, SECRET_MIN_LENGTH } from './redact.ts';

const SECRET = 'jane+doe@example.com/&"q"';

describe('masking of secrets', () => {
  it('finds a secret in every way in which a page can write it', () => {
    const { text } = createRedactor([SECRET]);
    for (const written of [
      SECRET,
      encodeURIComponent(SECRET),
      encodeURIComponent(SECRET).toLowerCase(),
      new URLSearchParams({ q: SECRET }).toString(),
      SECRET.replaceAll('&', '&amp;').replaceAll('"', '&quot;'),
      JSON.stringify(SECRET),
      Buffer.from(SECRET).toString('base64'),
      encodeURIComponent(`https://x.example/?next=${encodeURIComponent(SECRET)}`),
      'jane\\+doe\\@example\\.com\\/\\&\\"q\\"',
    ]) {
      const masked = text(`before ${written} after`);
      expect(masked, written).to.include(MASK).and.not.include('doe').and.not.include(Buffer.from(SECRET).toString('base64').slice(0, 12));
      expect(masked).to.match(/^before .*after$/);
    }
  });

  it('finds an e-mail address that a page shows in lower case', () => {
    const { text } = createRedactor(['Jane.Doe@Example.com', 'Passw0rd']);
    expect(text('jane.doe@example.com, ?u=jane.doe%40example.com, passw0rd')).to.equal(`${MASK}, ?u=${MASK}, passw0rd`);
  });

  it('leaves no secret in any text', () => {
    const secret = fc.string({ minLength: SECRET_MIN_LENGTH, maxLength: 40, unit: 'binary' });
    fc.assert(
      fc.property(fc.array(secret, { minLength: 1, maxLength: 5 }), fc.array(fc.string()), (secrets, rest) => {
        fc.pre(secrets.every((each) => !each.includes('*')));
        const masked = createRedactor(secrets).text([...rest, ...secrets, ...rest].join(' '));
        for (const each of secrets) expect(masked).to.not.include(each);
      }),
    );
  });

  it('finds the beginning of a long secret that a report has shortened', () => {
    const token = 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U';
    const { text } = createRedactor([token]);
    expect(text(`data-token="${token.slice(0, 60)}…#1a2b"`)).to.equal(`data-token="${MASK}…#1a2b"`);
    expect(text(`${token.slice(0, 12)} is too short to be told apart`)).to.include(token.slice(0, 12));
  });

  it('keeps the host of URLs, what axe-core says, and everything without a secret', () => {
    const { deep } = createRedactor(['shop', 'color-contrast', 'tea']);
    const page = {
      url: 'https://shop.example.com/shop/a?user=shop',
      linked_from: ['https://shop.example.com/shop'],
      violations: [{ rule: 'color-contrast', help: 'shop', nodes: [{ html: '<a href="/shop">tea</a>', selector: '[href="/shop"]' }] }],
    };
    expect(deep(page)).to.deep.equal({
      url: 'https://shop.example.com/***/a?user=***',
      linked_from: ['https://shop.example.com/***'],
      violations: [{ rule: 'color-contrast', help: 'shop', nodes: [{ html: '<a href="/***">tea</a>', selector: '[href="/***"]' }] }],
    });
    expect(createRedactor().deep(page)).to.equal(page);
  });

  it('learns tokens, and forgets the oldest of very many but never a secret', () => {
    const redactor = createRedactor(['password']);
    const tokens = Array.from({ length: 500 }, (_, index) => `session-${index}-0123456789`);
    for (const token of tokens) redactor.learn([token]);
    expect(redactor.text(`password ${tokens.at(-1)}`)).to.equal(`${MASK} ${MASK}`);
    expect(redactor.values().length).to.be.below(100);
  });

  it('covers log lines and errors in them', () => {
    const lines: unknown[] = [];
    const write = (fields: object, message: string): void =>
      void lines.push(JSON.stringify([fields, message]), (fields as { err?: Error }).err?.stack);
    const log = { debug: write, info: write, warn: write, error: write, child: () => log };
    const logger = redactingLogger(log, createRedactor(['hunter22']));
    logger.info({ url: 'https://x.test/?p=hunter22' }, 'hunter22 was here');
    logger.child({}).error({ err: new Error('hunter22 failed') }, 'failed');
    expect(lines.join('\n')).to.include('was here').and.include('*** failed').and.not.include('hunter22');
  });
});
