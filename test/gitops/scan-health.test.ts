/** Argo CD's health of AccessibilityScans, with statuses from the operator's own functions. */
import { expect } from 'chai';
import { END_REASONS } from '../../core/scan/phases.ts';
import { endedStatus, QUEUE_PAUSED, withStatus } from '../../operator/scan/policy/status.ts';
import { NOW, scanWith } from '../support/scan-samples.ts';
import { SCAN_STATES } from '../support/scan-states.ts';
import { healthOf } from './argo-lua.ts';

/** Argo CD and Flux judge a scan alike. Argo CD itself judges an object that is being deleted. */
const HEALTH = { InProgress: 'Progressing', Current: 'Healthy', Failed: 'Degraded' };

describe("Argo CD's health of an AccessibilityScan", () => {
  for (const [state, { scan, kstatus }] of Object.entries(SCAN_STATES)) {
    if (kstatus === 'Terminating') continue;
    it(`is ${HEALTH[kstatus]} for one that is ${state}`, async () => {
      const health = await healthOf('AccessibilityScan', scan);
      expect(health.status).to.equal(HEALTH[kstatus]);
      // A sync would wait for a suspended one without end.
      expect(health.status).to.not.equal('Suspended');
    });
  }

  it('states the verdict, the reason of a failure, or why the scan waits', async () => {
    const messageOf = async (state: string) => (await healthOf('AccessibilityScan', SCAN_STATES[state]!.scan)).message;
    expect(await messageOf('waiting in a paused queue')).to.equal(QUEUE_PAUSED.message);
    expect(await messageOf('done, below a threshold')).to.equal('The score is 80, below the minimum of 90.');
    expect(await messageOf('done and passed')).to.match(/^2 pages tested, score 95/);
    expect(await messageOf('canceled without thresholds')).to.match(/^The scan was canceled/);
    expect(await messageOf('failed before it was charged')).to.match(/^No organisation is charged for namespace team/);
  });

  it('is Degraded for one that failed, for whatever reason', async () => {
    for (const reason of END_REASONS.failed) {
      const scan = scanWith();
      const end = { phase: 'failed', reason, message: 'It failed.' } as const;
      const health = await healthOf('AccessibilityScan', withStatus(scan, endedStatus(scan, end, NOW)));
      expect(health, reason).to.deep.equal({ status: 'Degraded', message: 'It failed.' });
    }
  });
});
