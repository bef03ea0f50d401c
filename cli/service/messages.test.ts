import { expect } from 'chai';
import { readRefusal } from './messages.ts';

describe('a refusal of the service', () => {
  const lineOf = (field: string, type: string, msg: string): string | undefined =>
    readRefusal({ detail: [{ loc: ['body', field], msg, type }] })?.message;

  it('is about the option that the user typed', () => {
    expect(lineOf('max_pages', 'type.integer', 'max_pages must be an integer.')).to.equal('--max-pages must be an integer.');
  });

  it('names the field that an earlier service does not know, and not the option, which exists', () => {
    const msg = 'http_fallback is not a field of this request; check its spelling.';
    expect(lineOf('http_fallback', 'unexpected_field', msg)).to.equal(`The URL: ${msg}`);
  });
});
