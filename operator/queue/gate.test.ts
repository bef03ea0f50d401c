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
  it('is closed until the queue was planned', () => {
    expect(createAdmissionGate().take('a', 'acme')).to.equal(false);
  });

  it('assigns the places that the plan has left, and no more', () => {
    const gate = createAdmissionGate();
    gate.open(noPlaces(limits()));
    expect(['a', 'b', 'c'].map((uid) => gate.take(uid, 'acme'))).to.deep.equal([true, true, false]);
    // A failed write does not return the place; the next plan does.
    gate.settled('a');
    expect(gate.take('d', 'acme')).to.equal(false);
  });

  it('respects the limits of each organisation', () => {
    const gate = createAdmissionGate();
    gate.open(noPlaces(limits({ maxStartingPerOrganisation: 1 })));
    expect(gate.take('a', 'acme')).to.equal(true);
    expect(gate.take('b', 'acme')).to.equal(false);
    expect(gate.take('c', 'bolt')).to.equal(true);
  });

  it('assigns nothing while a plan is made, and names the admissions that are being written', () => {
    const gate = createAdmissionGate();
    gate.open(noPlaces(limits()));
    gate.take('a', 'acme');
    gate.take('b', 'bolt');
    gate.settled('a');
    expect([...gate.close()]).to.deep.equal([['b', 'bolt']]);
    expect(gate.take('c', 'acme')).to.equal(false);
  });
});
