import { expect } from 'chai';
import { createAdmissionGate } from './gate.ts';
import { noPlaces, type Limits } from './places.ts';

const limits = (more: Partial<Limits> = {}): Limits => ({
  maxRunning: 2,
  maxRunningPerOrganisation: 2,
  maxStartingPerOrganisation: 2,
  ...more,
});

describe('the admission gate', () => {
  const now = 1_000;

  it('is closed until the queue was planned', () => {
    expect(createAdmissionGate({ now: () => now }).take('default', 'a', 'acme')).to.equal(false);
  });

  it('assigns the places that the plan has left, and no more', () => {
    const gate = createAdmissionGate({ now: () => now });
    gate.open('default', noPlaces(limits()));
    expect(['a', 'b', 'c'].map((uid) => gate.take('default', uid, 'acme'))).to.deep.equal([true, true, false]);
    // A failed write does not return the place; the next plan does.
    gate.settled('default', 'a');
    expect(gate.take('default', 'd', 'acme')).to.equal(false);
  });

  it('respects the limits of each organisation', () => {
    const gate = createAdmissionGate({ now: () => now });
    gate.open('default', noPlaces(limits({ maxStartingPerOrganisation: 1 })));
    expect(gate.take('default', 'a', 'acme')).to.equal(true);
    expect(gate.take('default', 'b', 'acme')).to.equal(false);
    expect(gate.take('default', 'c', 'bolt')).to.equal(true);
  });

  it('assigns nothing while a plan is made, and names the admissions that are being written', () => {
    const gate = createAdmissionGate({ now: () => now });
    gate.open('default', noPlaces(limits()));
    gate.take('default', 'a', 'acme');
    gate.take('default', 'b', 'bolt');
    gate.settled('default', 'a');
    expect([...gate.close('default').taken]).to.deep.equal([['b', 'bolt']]);
    expect(gate.take('default', 'c', 'acme')).to.equal(false);
  });

  it('assigns the places of each queue apart', () => {
    const gate = createAdmissionGate({ now: () => now });
    gate.open('default', noPlaces(limits({ maxRunning: 1 })));
    gate.open('nightly', noPlaces(limits({ maxRunning: 1 })));
    expect(gate.take('nightly', 'a', 'acme')).to.equal(true);
    expect(gate.take('default', 'b', 'acme')).to.equal(true);
    expect(gate.take('missing', 'c', 'acme')).to.equal(false);
    gate.close('nightly');
    expect([...gate.close('default').taken]).to.deep.equal([['b', 'acme']]);
  });

  it('remembers when each organisation was last admitted, in the order of the admissions, until the queue is forgotten', () => {
    const gate = createAdmissionGate({ now: () => now });
    gate.open('default', noPlaces(limits({ maxRunning: 9 })));
    gate.take('default', 'a', 'acme');
    gate.settled('default', 'a');
    gate.admitted('default', 'bolt');
    gate.admitted('default', 'acme');
    expect([...gate.close('default').lastAdmissions]).to.deep.equal([
      ['bolt', 1_002],
      ['acme', 1_003],
    ]);
    gate.forget('default');
    expect(gate.close('default').lastAdmissions.size).to.equal(0);
  });
});
