import { expect } from 'chai';
import { ApiError, ERROR_CODES, ERRORS, type ErrorCode } from '../http/errors.ts';
import { pageErrorOf } from './error-page.ts';

describe('the page of an error', () => {
  const pages: [code: ErrorCode, changes: boolean, page: string][] = [
    ['service_unavailable', false, 'unavailable'],
    ['service_unavailable', true, 'unconfirmed'],
    ['replica_busy', false, 'busy'],
    ['replica_busy', true, 'busy'],
    ['internal_error', true, 'internal'],
  ];
  for (const [code, changes, page] of pages)
    it(`is ${page} for ${code} ${changes ? 'of a request that changes something' : 'of a request that reads'}`, () =>
      expect(pageErrorOf(new ApiError(code), changes)).to.equal(page));

  it('says that a part is down only if one is', () => {
    const down = ERROR_CODES.filter((code) => ERRORS[code].status === 503 && pageErrorOf(new ApiError(code), false) === 'unavailable');
    expect(down).to.have.members(['service_unavailable', 'submission_unconfirmed']);
  });
});
