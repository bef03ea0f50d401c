import { expect } from 'chai';
import { failureOf, reasonOf, type Failure, type SmtpError } from './smtp.ts';

const rcpt = (response: string): SmtpError => ({
  code: 'EENVELOPE',
  command: 'RCPT TO',
  responseCode: Number(response.slice(0, 3)),
  response,
});
const data = (response: string): SmtpError => ({ ...rcpt(response), code: 'EMESSAGE', command: 'DATA' });

describe('SMTP failures', () => {
  const cases: [what: string, error: SmtpError, expected: Failure][] = [
    ['an unknown mailbox', rcpt('550 5.1.1 No such user'), 'bounced'],
    ['an unknown mailbox without an enhanced code', rcpt('550 No such user'), 'doubtful'],
    ['an unknown domain', rcpt('550 5.1.2 Bad destination'), 'bounced'],
    ['a full mailbox', rcpt('552 5.2.2 Mailbox full'), 'later'],
    ['a relay that denies the domain', rcpt('550 5.7.1 Relaying denied'), 'refused'],
    ['a blocked sender', rcpt('550 5.1.8 Sender address rejected'), 'refused'],
    ['greylisting', rcpt('451 4.7.1 Greylisted'), 'later'],
    ['a mail that is refused for its content', data('554 5.7.1 Message content rejected'), 'refused'],
    ['a refused sender', { ...rcpt('550 5.1.7 Bad sender'), command: 'MAIL FROM' }, 'unavailable'],
    ['a mail that is too large', { code: 'EMESSAGE', command: 'MAIL FROM' }, 'refused'],
    ['an address that cannot be sent', { code: 'EENVELOPE', command: 'API' }, 'refused'],
    ['wrong credentials', { code: 'EAUTH', responseCode: 535, command: 'AUTH PLAIN' }, 'unavailable'],
    ['a refused connection', { code: 'ESOCKET', command: 'CONN', syscall: 'connect' }, 'unavailable'],
    ['a connection that breaks', { code: 'ECONNECTION', command: 'CONN' }, 'unclear'],
    ['a time limit', { code: 'ETIMEDOUT', command: 'CONN' }, 'unclear'],
    ['any other error', {}, 'unclear'],
  ];
  for (const [what, error, expected] of cases) it(`treat ${what} as ${expected}`, () => expect(failureOf(error)).to.equal(expected));

  it('are described in one line without addresses', () => {
    expect(reasonOf({ response: '550 5.1.1 <ada@example.com>:\r\n user "ada@example.com" unknown' })).to.equal(
      '550 5.1.1 <(address)>: user "(address)" unknown',
    );
    expect(reasonOf({ message: 'x'.repeat(1000) })).to.have.lengthOf(300);
    expect(reasonOf({})).to.equal('unknown error');
    expect(reasonOf({ message: 'error:0A00010B:SSL routines:tls_validate_record_header:wrong version number:…' })).to.include(
      'use smtp://',
    );
  });
});
