import { expect } from 'chai';
import { NOW, scanWith } from '../../../test/support/scan-samples.ts';
import { scanRow } from '../../../test/support/scan-rows.ts';
import type { Organisation } from '../../../core/organisation.ts';
import type { Resolution } from '../../../core/scan/targets.ts';
import type { Reservation } from '../../../stores/credits/credits.ts';
import { createPreflight } from './preflight.ts';

describe('the preflight of manifests whose organisation has its share of live scans', () => {
  /** Scans of two organisations, named `<organisation>-…`. */
  function preflightOf(resolution: Resolution = { ok: true, addresses: ['203.0.113.7'] }) {
    const reserved: string[] = [];
    let now = NOW;
    let answer: Reservation = { ok: false, reason: 'too_many_live' };
    const rowOf = (id: string) => scanRow({ id, organisation: id.split('-')[0], resource: { namespace: 'team', name: id } });
    const preflight = createPreflight({
      scans: {
        find: async (id) => rowOf(id),
        mirror: async (id) => ({ row: rowOf(id), changed: true }),
        create: async () => expect.fail(),
        accept: async () => expect.fail(),
        abandon: async () => expect.fail(),
      },
      organisations: { find: async (id) => ({ id, blocked: false }) as Organisation, findByNamespace: async () => null },
      credits: {
        async reserve({ scanId }) {
          reserved.push(scanId);
          return answer;
        },
      },
      resolver: { resolve: async () => resolution },
      apiNamespace: 'curbcut',
      maxPagesLimit: 500,
      maxLiveScansPerOrganisation: 1,
      targets: { allow: ['203.0.113.0/24'], deny: [] },
      podTemplate: { allow: [], maxResources: { cpu: '1', memory: '1Gi' } },
      now: () => now,
    });
    return {
      reserved,
      async vet(name: string, waits = true) {
        const vetted = await preflight.vet(scanWith(undefined, { metadata: { name, uid: name, namespace: 'team' } }), name, waits);
        return vetted.ok ? 'ok' : Object.keys(vetted)[1];
      },
      later: (seconds: number) => void (now = new Date(NOW.getTime() + seconds * 1000)),
      answerWith: (next: Reservation) => void (answer = next),
      free: () => void (answer = { ok: true, reserved: 5, balance: 5 }),
    };
  }

  it('asks for credits once a second, whatever the number of waiting scans', async () => {
    const { vet, reserved, later } = preflightOf();
    for (let index = 0; index < 100; index += 1) expect(await vet(`a-${index}`)).to.equal('wait');
    expect(reserved).to.deep.equal(['a-0']);
    expect(await vet('b-0'), 'another organisation').to.equal('wait');
    later(1);
    for (let index = 0; index < 100; index += 1) await vet(`a-${index}`);
    expect(reserved).to.deep.equal(['a-0', 'b-0', 'a-0']);
  });

  it('waits for name servers that do not answer, whatever the age of the scan, and reserves nothing', async () => {
    const { vet, reserved } = preflightOf({ ok: false, reason: 'unavailable' });
    expect(await vet('a-0')).to.equal('unresolved');
    expect(reserved).to.deep.equal([]);
  });

  it('waits with a reason if a reservation is too late for the clock of MongoDB', async () => {
    const { vet, answerWith } = preflightOf();
    answerWith({ ok: false, reason: 'deadline_passed' });
    expect(await vet('a-0')).to.equal('wait');
  });

  it('asks for each scan again while the share has room', async () => {
    const { vet, reserved, later, free } = preflightOf();
    await vet('a-0');
    free();
    expect(await vet('a-1'), 'within the second').to.equal('wait');
    expect(await vet('a-2', false), 'may hold credits already').to.equal('ok');
    later(1);
    expect(await vet('a-0')).to.equal('ok');
    expect(await vet('a-1')).to.equal('ok');
    expect(reserved).to.deep.equal(['a-0', 'a-2', 'a-0', 'a-1']);
  });
});
