/** Each row of the table of ends in docs/security.md is shown by tests, which are named here and exist. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { Environment } from '../../operator/config.ts';
import { INVITATION_HOURS } from '../../stores/accounts/invitations.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

/** The tests of each row, by what ends: a file and the beginning of a title. */
const SHOWN: Readonly<Record<string, readonly (readonly [file: string, title: string])[]>> = {
  'organisation, deleted': [
    ['operator/organisation/reconcile.test.ts', 'blocks the organisation first, and ends what acts for it'],
    ['operator/organisation/reconcile.test.ts', 'then releases the namespaces, and last the resource'],
    ['test/operator/organisations.test.ts', 'charge their manifests, end with what acts for them, and are of no other object of the name'],
    [
      'test/stores/organisation-manifests.test.ts',
      'belong to one object of the name, whenever another was created, until they are restored',
    ],
    ['test/stores/purge.test.ts', 'leaves the numbers of the ledger, and nothing else'],
  ],
  'namespace, taken away': [
    ['operator/known-issues/reconcile.test.ts', 'withdraws what is stored for another organisation than that of the namespace now'],
    ['operator/schedule/actions.test.ts', 'compare a run only with one of the same organisation and site'],
    ['test/stores/people.test.ts', 'charges a namespace to only one organisation'],
  ],
  'member, removed': [
    ['test/api/accounts.test.ts', 'that were removed have no session, no stream and no way back'],
    ['test/api/members.test.ts', 'leave keys with at most their last role'],
    ['test/api/left-behind.test.ts', 'is listed after a demotion, a removal'],
    ['test/api/left-behind.test.ts', 'ends, or is paused, by the button of each thing'],
  ],
  'role, lowered': [
    ['test/stores/key-creators.test.ts', 'bound what keys may do by the role of the person'],
    ['test/api/members.test.ts', 'change roles at once'],
    ['test/api/left-behind.test.ts', 'is listed after a demotion, a removal'],
    ['test/api/accounts.test.ts', 'that stop being owners lose what they invited'],
  ],
  'account, deleted': [
    ['test/api/accounts.test.ts', 'are deleted with the password, and what belongs to the organisation stays'],
    ['test/stores/second-factors.test.ts', 'end with the account'],
    ['test/stores/key-creators.test.ts', 'bound what keys may do by the role of the person'],
    ['test/api/admin.test.ts', 'is removed only with --last-owner if there is no other owner'],
  ],
  'session, signed out or after a new password': [
    ['test/api/sign-in.test.ts', 'ends at sign-out'],
    ['test/api/dashboard-scan-forms.test.ts', 'ends when the person signs out, and a reconnect is refused'],
    ['test/api/members.test.ts', 'changes its password, which ends the other sessions'],
    ['test/api/members.test.ts', 'ends with a sign-out of its own, while keys and other sessions stay'],
    ['test/api/left-behind.test.ts', 'is shown to a person after a new password, a reset, and after signing out everywhere'],
  ],
  'key, revoked': [
    ['test/api/api-keys.test.ts', 'issues a working key, shows it once, and revokes it immediately on every replica'],
    ['test/api/stream-limits.test.ts', 'ends when its key is revoked'],
    ['test/stores/key-creators.test.ts', 'find the live keys of a person, with those that these keys created'],
    ['test/api/left-behind.test.ts', 'gives an adopted key the role of the owner, after a fresh proof'],
  ],
  'webhook, disabled or deleted': [
    ['test/api/webhooks.test.ts', 'changes, disables and enables a webhook, and cancels what waits'],
    ['test/api/webhooks.test.ts', 'deletes a webhook with what waits'],
  ],
  'schedule, deleted': [['test/api/dashboard-schedules.test.ts', 'are deleted after a question, and give their place back']],
  'queue, deleted': [
    ['operator/queue/plan.test.ts', 'admits nothing, creates nothing and states in the waiting scans that there is no such queue'],
    ['operator/queue/plan.test.ts', 'takes the reason back and admits when the queue is created'],
  ],
  'known issue, removed or past its end': [
    ['test/stores/known-issues.test.ts', 'are chosen for a scan once: live ones of its sites and organisation'],
    ['test/api/known-issues.test.ts', 'are accepted, listed, changed and removed'],
  ],
  'scan, deleted': [
    ['test/api/delete-scan.test.ts', 'takes it from every list at once, is recorded once'],
    ['test/api/delete-scan.test.ts', 'leaves no stored answer that names its address'],
    ['test/api/delete-scan.test.ts', 'charges no repeated submission again'],
    ['test/operator/sweeper.test.ts', 'deletes the reports of a purged organisation at once'],
  ],
  'site, deleted': [
    ['test/api/delete-scan.test.ts', 'takes its ended scans after an owner has entered the host'],
    ['test/stores/scans.test.ts', 'takes ended rows of a site from their organisation'],
  ],
  'report, after its retention': [
    ['test/operator/sweeper.test.ts', 'deletes reports when their retention has ended, and later the row with the verdict'],
    ['test/api/scans.test.ts', 'get 404 after the end of their retention'],
  ],
  'stream, when its scan has ended or is deleted': [
    ['test/api/events.test.ts', 'completes immediately if the scan has ended, and answers 204'],
    ['test/api/events.test.ts', 'ends if the scan is deleted'],
  ],
  'link that is mailed': [
    ['test/stores/one-time-links.test.ts', 'expire after 72 hours'],
    ['test/stores/one-time-links.test.ts', 'expire after an hour'],
    ['test/stores/one-time-links.test.ts', 'replace an earlier one of the same address, and are canceled'],
    ['test/stores/one-time-links.test.ts', 'end with a newer link, a new password, and the removal of the user'],
  ],
  'secret of a webhook, replaced': [['test/api/webhooks.test.ts', 'replaces the secret, and lets those before it sign for a day']],
};

describe('what ends, in docs/security.md', () => {
  const [, section = ''] = read('docs/security.md').split('## What ends, and what stays');
  const rows = [...section.split('\n## ')[0]!.matchAll(/^\| (.+?) \| .+ \| .+ \|$/gm)].map(([row, what]) => ({ row, what: what! }));

  it('has a row for each case, and a case for each row', () => {
    expect(rows.map(({ what }) => what)).to.deep.equal(['what ends', ...Object.keys(SHOWN)]);
  });

  for (const [what, tests] of Object.entries(SHOWN))
    it(`is shown by tests: ${what}`, () => {
      // Not one that is skipped.
      for (const [file, title] of tests) expect(read(file), `${file} has no such test`).to.include(` it('${title}`);
    });

  it('says for how long', () => {
    const days = Environment.properties.VERDICT_RETENTION_DAYS as { default?: number };
    const rowOf = (what: string): string => rows.find((one) => one.what === what)!.row;
    expect(rowOf('link that is mailed')).to.include(`for ${INVITATION_HOURS} hours`);
    expect(rowOf('report, after its retention')).to.include(`for ${days.default} days`);
  });
});
