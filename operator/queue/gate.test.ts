import { expect } from 'chai';
import { createAdmissionGate, type Limits, noPlaces } from './places.ts';

const limits = (more: Partial<Limits> = {}): Limits => ({
  access: { namespaces: null, organisations: null },
  maxRunning: 2,
  maxRunningPerOrganisation: 2,
  maxStartingPerOrganisation: 2,
  ...more,
});

const scan = (uid: string, organisation: string, namespace = 'team') => ({ uid, organisation, namespace });

describe('the admission gate', () => {
  const now = new Date(1_000);

  it('is closed until the queue was planned', () => {
    expect(createAdmissionGate({ now: () => now }).take('default', scan('a', 'acme'))).to.equal(0);
  });

  it('assigns the places that the plan has left, and no more', () => {
    const gate = createAdmissionGate({ now: () => now });
    gate.open('default', noPlaces(limits()));
    expect(['a', 'b', 'c'].map((uid) => gate.take('default', scan(uid, 'acme')))).to.deep.equal([1, 1, 0]);
    // A failed write does not return the place; the next plan does.
    gate.settled('default', 'a');
    expect(gate.take('default', scan('d', 'acme'))).to.equal(0);
  });

  it('respects the limits of each organisation', () => {
    const gate = createAdmissionGate({ now: () => now });
    gate.open('default', noPlaces(limits({ maxStartingPerOrganisation: 1 })));
    expect(gate.take('default', scan('a', 'acme'))).to.equal(1);
    expect(gate.take('default', scan('b', 'acme'))).to.equal(0);
    expect(gate.take('default', scan('c', 'bolt'))).to.equal(1);
  });

  it('assigns no place to scans that may not use the queue', () => {
    const gate = createAdmissionGate({ now: () => now });
    gate.open('default', noPlaces(limits({ access: { namespaces: ['team'], organisations: ['acme'] } })));
    expect(gate.take('default', scan('a', 'bolt'))).to.equal(0);
    expect(gate.take('default', scan('b', 'acme', 'other'))).to.equal(0);
    expect(gate.take('default', scan('c', 'acme'))).to.equal(1);
  });

  it('assigns nothing while a plan is made, and names the admissions that are being written', () => {
    const gate = createAdmissionGate({ now: () => now });
    gate.open('default', noPlaces(limits()));
    gate.take('default', scan('a', 'acme'));
    gate.take('default', scan('b', 'bolt'));
    gate.settled('default', 'a');
    expect([...gate.close('default').taken]).to.deep.equal([['b', { organisation: 'bolt', pods: 1 }]]);
    expect(gate.take('default', scan('c', 'acme'))).to.equal(0);
  });

  it('assigns the places of each queue apart', () => {
    const gate = createAdmissionGate({ now: () => now });
    gate.open('default', noPlaces(limits({ maxRunning: 1 })));
    gate.open('nightly', noPlaces(limits({ maxRunning: 1 })));
    expect(gate.take('nightly', scan('a', 'acme'))).to.equal(1);
    expect(gate.take('default', scan('b', 'acme'))).to.equal(1);
    expect(gate.take('missing', scan('c', 'acme'))).to.equal(0);
    gate.close('nightly');
    expect([...gate.close('default').taken]).to.deep.equal([['b', { organisation: 'acme', pods: 1 }]]);
  });

  it('gives a scan the places that are free for its pods, and one at least', () => {
    const gate = createAdmissionGate({ now: () => now });
    gate.open('default', noPlaces(limits({ maxRunning: 4, maxRunningPerOrganisation: 3 })));
    expect(gate.take('default', { ...scan('a', 'acme'), wanted: 5 })).to.equal(3);
    expect(gate.take('default', { ...scan('b', 'bolt'), wanted: 2 })).to.equal(1);
    expect(gate.close('default').taken.get('a')).to.deep.equal({ organisation: 'acme', pods: 3 });
  });

  it('remembers when each organisation was last admitted, in the order of the admissions, until the queue is forgotten', () => {
    const gate = createAdmissionGate({ now: () => now });
    gate.open('default', noPlaces(limits({ maxRunning: 9 })));
    gate.take('default', scan('a', 'acme'));
    gate.settled('default', 'a');
    gate.hold('default', 'b', { organisation: 'bolt', pods: 1 });
    gate.hold('default', 'a', { organisation: 'acme', pods: 1 });
    expect([...gate.close('default').lastAdmissions]).to.deep.equal([
      ['bolt', 1_002],
      ['acme', 1_003],
    ]);
    for (const uid of ['a', 'b']) gate.settled('default', uid);
    gate.forget('default');
    expect(gate.close('default').lastAdmissions.size).to.equal(0);
  });
});
