import { expect } from 'chai';
import type { AccessibilityScan } from '../../../core/protocol/custom-resources.ts';
import { SCAN_STATES } from '../../../test/support/scan-states.ts';

/** The conditions of a scan as `Type=Status Reason`. */
function shown({ status }: AccessibilityScan): string {
  return (status?.conditions ?? []).map(({ type, status: value, reason }) => `${type}=${value} ${reason}`).join(', ');
}

const live = (reason: string) => `Complete=False InProgress, Reconciling=True ${reason}, Succeeded=Unknown ${reason}`;

/** The conditions in each state, sorted by type. */
const EXPECTED: Readonly<Record<string, string>> = {
  'just created': '',
  'held back, because no name server answers': `Admitted=False NameServersUnavailable, ${live('NameServersUnavailable')}`,
  'waiting in its queue': `Admitted=False Queued, Complete=False InProgress, Passed=Unknown Pending, Reconciling=True Queued, Succeeded=Unknown Queued`,
  'waiting in a paused queue': `Admitted=False QueuePaused, ${live('QueuePaused')}`,
  'waiting for a queue that does not exist': `Admitted=False QueueNotFound, ${live('QueueNotFound')}`,
  admitted: `Admitted=True Admitted, ${live('Launching')}`,
  running: `Admitted=True Admitted, Complete=False InProgress, Passed=Unknown Pending, Reconciling=True Crawling, Succeeded=Unknown Crawling`,
  'running, with results that cannot be read': `Admitted=True Admitted, ${live('StoreUnavailable')}`,
  'running again without results of its first Job': `Admitted=True Admitted, ${live('Retrying')}`,
  'done without thresholds': 'Admitted=True Admitted, Complete=True Done, Reconciling=False Done, Stalled=False Done, Succeeded=True Done',
  'done and passed':
    'Admitted=True Admitted, Complete=True Done, Passed=True ThresholdsMet, Reconciling=False Done, Stalled=False Done, Succeeded=True Done',
  'done, below a threshold':
    'Admitted=True Admitted, Complete=True Done, Passed=False ThresholdsMissed, Reconciling=False Done, Stalled=True ThresholdsMissed, Succeeded=True Done',
  failed: 'Admitted=True Admitted, Complete=True JobLost, Reconciling=False JobLost, Stalled=True JobLost, Succeeded=False JobLost',
  'failed before it was charged':
    'Admitted=False NoOrganisation, Complete=True NoOrganisation, Reconciling=False NoOrganisation, Stalled=True NoOrganisation, Succeeded=False NoOrganisation',
  'failed with thresholds':
    'Admitted=True Admitted, Complete=True NoResults, Passed=False NoResult, Reconciling=False NoResults, Stalled=True NoResults, Succeeded=False NoResults',
  'canceled without thresholds':
    'Admitted=True Admitted, Complete=True Canceled, Reconciling=False Canceled, Stalled=False Canceled, Succeeded=False Canceled',
  'canceled with thresholds':
    'Admitted=True Admitted, Complete=True Canceled, Passed=False NoResult, Reconciling=False Canceled, Stalled=True Canceled, Succeeded=False Canceled',
  'being canceled': `Admitted=True Admitted, Complete=False InProgress, Passed=Unknown Pending, Reconciling=True Canceling, Succeeded=Unknown Canceling`,
  'canceled with a partial report':
    'Admitted=True Admitted, Complete=True Canceled, Reconciling=False Canceled, Stalled=False Canceled, Succeeded=False Canceled',
  'canceled with a partial report and thresholds':
    'Admitted=True Admitted, Complete=True Canceled, Passed=False PartialReport, Reconciling=False Canceled, Stalled=True Canceled, Succeeded=False Canceled',
  'canceled before it was vetted':
    'Admitted=False Canceled, Complete=True Canceled, Reconciling=False Canceled, Stalled=False Canceled, Succeeded=False Canceled',
  'done, with a new TTL that the operator has not seen':
    'Admitted=True Admitted, Complete=True Done, Reconciling=False Done, Stalled=False Done, Succeeded=True Done',
  'done, with a new TTL': 'Admitted=True Admitted, Complete=True Done, Reconciling=False Done, Stalled=False Done, Succeeded=True Done',
  'being deleted': `Admitted=True Admitted, ${live('Crawling')}`,
};

describe('conditions of a scan', () => {
  for (const [state, { scan }] of Object.entries(SCAN_STATES)) {
    it(`are complete if it is ${state}`, () => {
      expect(shown(scan)).to.equal(EXPECTED[state]);
    });
  }

  it('state the generation of the status, the unchanged ones too', () => {
    const { status } = SCAN_STATES['done, with a new TTL']!.scan;
    expect(status!.observedGeneration).to.equal(2);
    expect(status!.conditions!.map(({ observedGeneration }) => observedGeneration)).to.deep.equal([2, 2, 2, 2, 2]);
  });

  it('keep the time of their last transition when only the generation changes', () => {
    const before = SCAN_STATES['done, with a new TTL that the operator has not seen']!.scan;
    const times = ({ status }: AccessibilityScan) => status!.conditions!.map(({ lastTransitionTime }) => lastTransitionTime);
    expect(times(SCAN_STATES['done, with a new TTL']!.scan)).to.deep.equal(times(before));
  });
});
