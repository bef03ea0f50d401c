import { expect } from 'chai';
import { domainOf, isEmailAddress, mailboxOf } from './email-address.ts';

describe('isEmailAddress', () => {
  const local64 = 'a'.repeat(64);
  const valid = [
    'ada@example.com',
    'Ada.Lovelace+scans@mail.example.co.uk',
    "o'brien@example.com",
    'zażółć@przykład.pl',
    'a@xn--przykad-rjb.pl',
    `${local64}@example.com`,
  ];
  for (const address of valid) it(`accepts ${address}`, () => expect(isEmailAddress(address)).to.equal(true));

  const invalid = [
    '',
    'ada',
    '@example.com',
    'ada@',
    'ada@localhost',
    'ada@127.0.0.1',
    'ada@[127.0.0.1]',
    'ada@example..com',
    'ada@-example.com',
    'ada@example.com.',
    '.ada@example.com',
    'ada.@example.com',
    'a..b@example.com',
    'ada@b@example.com',
    'ada lovelace@example.com',
    'ada@example.com\nBcc: other@example.com',
    'ada@example.com, other@example.com',
    'Ada <ada@example.com>',
    '"ada"@example.com',
    `${local64}a@example.com`,
    `ada@${'a'.repeat(64)}.com`,
    `a@${'a.'.repeat(126)}com`,
  ];
  for (const address of invalid) it(`rejects ${JSON.stringify(address)}`, () => expect(isEmailAddress(address)).to.equal(false));
});

describe('mailboxOf', () => {
  for (const [address, mailbox] of [
    ['Ada@Example.com', 'ada@example.com'],
    ['ada+tag@example.com', 'ada@example.com'],
    ['ada+a+b@example.com', 'ada@example.com'],
    ['ada+@example.com', 'ada@example.com'],
    ['+ada@example.com', '+ada@example.com'],
    ['+ada+tag@example.com', '+ada@example.com'],
    ['ada@example+x.com', 'ada@example+x.com'],
  ] as const)
    it(`of ${address} is ${mailbox}`, () => expect(mailboxOf(address)).to.equal(mailbox));
});

describe('domainOf', () => {
  it('is in lower case', () => expect(domainOf('Ada@Mail.Example.com')).to.equal('mail.example.com'));
});
