import { expect } from 'chai';
import { notQuiet, requestCaveats } from './caveats.ts';

describe('caveats of a page', () => {
  it('are none if all requests were answered', () => {
    expect(requestCaveats([], [])).to.deep.equal([]);
  });

  it('name each address once, without its query, and at most three', () => {
    const open = ['a?token=1', 'a?token=2', 'b#x', 'c', 'd', 'e'].map((path) => `https://example.org/${path}`);
    expect(requestCaveats(open, [])).to.deep.equal([
      {
        kind: 'requests_unanswered',
        message:
          'No complete response arrived in time from https://example.org/a, https://example.org/b, https://example.org/c and 2 more. The page was tested without what they show.',
      },
    ]);
  });

  it('tell requests that were not sent from those that were not answered', () => {
    const [caveat] = requestCaveats(['https://example.org/a'], ['https://cdn.example/b']);
    expect(caveat?.message).to.equal(
      'No complete response arrived in time from https://example.org/a. Not requested, because this scan has waited for the same host or file in vain before: https://cdn.example/b. The page was tested without what they show.',
    );
  });

  it('state the time that a page had', () => {
    expect(notQuiet(3000).message).to.match(/^The page was still changing after 3\.0 s\. /);
  });
});
