/** `curbcut check`: what it submits, what it says, and its exit codes. */
import { expect } from 'chai';
import { accepts, complete, EVENTS, POLL, replies, result, SCAN_ID, serviceForTests, streams, SUBMIT } from './service.ts';

const ORIGIN = '11111111-2222-4333-8444-555555555555';
const CAUSE = '0123456789abcdef';
const URL = 'https://www.example.org/shop';

describe('curbcut check', () => {
  const { service, run } = serviceForTests();
  const compared = { scan_id: ORIGIN, problem: null, new: 0, new_known: 0, on_new_pages: 0, fixed: 1, unchanged: 0, not_tested: 9 };
  const ended = (check: object | undefined) =>
    result({
      passed: null,
      baseline: { ...compared, ...(check && { check: { cause: CAUSE, reason: null, before: 12, left: 0, new: 0, ...check } }) },
    });
  const check = (checked: object | undefined, ...options: string[]) =>
    run(['check', URL, ...options], {
      'GET /v1/ci/scans': [
        replies(200, {
          data: [
            listed(SCAN_ID, { check: { ...compared, cause: null, answer: 'fixed', reason: null, before: 1, left: 0 } }),
            listed(ORIGIN),
          ],
          next_cursor: null,
        }),
      ],
      [SUBMIT]: [accepts],
      [EVENTS]: [streams(complete(1, { passed: null }))],
      [POLL]: [replies(200, ended(checked))],
    });
  const listed = (scan_id: string, baseline?: object) => ({
    ...result({ scan_id }),
    submitted_at: '2026-03-02T09:14:05Z',
    ...(baseline && { baseline: { ...compared, ...baseline } }),
  });

  it('compares with the newest done scan of the host that is no check, and says what is fixed', async () => {
    const ran = await check({ answer: 'fixed' }, '--cause', CAUSE);
    expect(ran.code, ran.stderr).to.equal(0);
    expect(ran.stdout).to.include('Verdict     ✓ fixed: 12 violations').and.not.include('Baseline');
    const [list, submitted] = service().requests;
    expect(list!.path).to.include('status=done').and.include('site=www.example.org');
    expect(submitted!.body).to.deep.equal({ url: URL, check_of: { scan: ORIGIN, cause: CAUSE } });
  });

  for (const [checked, code, text] of [
    [{ answer: 'fixed', before: 0 }, 0, '✓ No violations on this page'],
    [{ answer: 'still_there', left: 3 }, 1, '✗ still there: 3 of 12 violations'],
    [{ answer: 'still_there', left: 3, new: 2 }, 1, '2 violations on the page that the earlier scan does not have there'],
    [{ answer: 'new', new: 1 }, 1, '✗ new: 1 violation'],
    [{ answer: 'unknown', reason: 'rule_not_run' }, 2, '– it is unknown whether this is fixed. The rule was not run on this page'],
    [{ answer: null }, 2, 'The page was not compared.'],
  ] as const)
    it(`exits with ${code}: ${text}`, async () => {
      const ran = await check(checked, '--with', ORIGIN);
      expect(ran.code).to.equal(code);
      expect(ran.stdout).to.include(text);
      expect((await check(checked, '--with', ORIGIN, '--quiet')).code, 'without output').to.equal(code);
    });

  it('exits with 2 if a service of an earlier version scans without an answer, and for what is no fingerprint', async () => {
    expect((await check(undefined)).code).to.equal(2);
    const ran = await check(undefined, '--cause', 'image-alt');
    expect([ran.code, ran.stderr]).to.deep.equal([
      2,
      'curbcut: --cause image-alt must be a fingerprint of 16 hexadecimal digits.\nTry: curbcut check --help\n',
    ]);
  });
});
