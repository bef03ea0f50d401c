import { expect } from 'chai';
import type { PageCaveat, UntestedFrame } from '../../../report/schema/page.ts';
import { toPageFindings } from '../axe/results.ts';
import { withDialog } from './renewable-state.ts';
import type { Visit } from '../visit/visit.ts';

const findings = toPageFindings({ violations: [], incomplete: [], passes: [], inapplicable: [], failed: [] });
const frame = (path: string): UntestedFrame => ({ path: [path], url: '', reason: 'timeout', message: '' });
const caveat = (kind: string): PageCaveat => ({ kind: kind as PageCaveat['kind'], message: kind });
const loaded = (more: Partial<Extract<Visit, { loaded: true }>> = {}): Visit =>
  ({ loaded: true, findings, framesUntested: [], caveats: [], pictures: [], durationMs: 10, ...more }) as unknown as Visit;
const failed = { loaded: false, reason: 'timeout', message: 'Too slow.', durationMs: 5 } as Visit;

describe('the visit of a start page with a dialog', () => {
  it('has the gaps of both states, except what only the dialog covers', () => {
    const dialog = loaded({ framesUntested: [frame('#ad'), frame('#cmp')], caveats: ['not_quiet', 'content_blocked'].map(caveat) });
    const visit = withDialog(dialog, loaded({ framesUntested: [frame('#ad')], caveats: ['not_scrolled', 'not_quiet'].map(caveat) }));
    expect(visit).to.deep.include({ withDialog: findings, durationMs: 20, framesUntested: [frame('#ad'), frame('#cmp')] });
    expect(visit).to.have.deep.property('caveats', ['not_scrolled', 'not_quiet'].map(caveat));
  });

  it('says that the open dialog was not tested', () => {
    expect(withDialog(failed, loaded())).to.have.deep.property('caveats', [
      { kind: 'dialog_untested', message: 'The page could not be tested with the open dialog. Too slow.' },
    ]);
  });

  it('fails as the page fails after the answer', () => expect(withDialog(loaded(), failed)).to.equal(failed));
});
