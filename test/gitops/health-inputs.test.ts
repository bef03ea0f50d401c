/** Every script that Argo CD runs: with missing and odd input, and in the part of Lua that all interpreters have. */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { parse } from 'yaml';
import { actionsOf, ARGO, healthOf, KINDS, notPortable, runLua } from './argo-lua.ts';

const ROOT = join(import.meta.dirname, '..', '..');
/** Argo CD takes anything else for Unknown. */
const STATUSES = ['Healthy', 'Progressing', 'Degraded', 'Suspended'];

const ODD: Record<string, object> = {
  'no status': {},
  'conditions that are null': { status: { observedGeneration: 1, conditions: null } },
  'an empty condition': { status: { observedGeneration: 1, conditions: [{}] } },
  'conditions of other controllers': {
    status: { observedGeneration: 1, conditions: [{ type: 'Synced', status: 'Unknown', reason: 'x', message: null }] },
  },
  'numbers and texts in place of each other': { status: { observedGeneration: '1', phase: 7, message: 7, queued: '3' } },
  'no spec': { spec: null, status: { observedGeneration: 1 } },
};

describe('health.lua', () => {
  it('exists for every kind of the definitions', () => {
    const kinds = globSync('crds/*.yaml', { cwd: ROOT }).map(
      (path) => (parse(readFileSync(join(ROOT, path), 'utf8')) as { spec: { names: { kind: string } } }).spec.names.kind,
    );
    expect(KINDS).to.include.members(kinds);
  });

  for (const kind of KINDS) {
    it(`of ${kind} survives odd input`, async () => {
      for (const [input, rest] of Object.entries(ODD)) {
        const health = await healthOf(kind, { metadata: { generation: 1 }, spec: {}, ...rest });
        expect(health.status, input).to.be.oneOf(STATUSES);
        if (health.message !== undefined) expect(['string', 'number'], input).to.include(typeof health.message);
      }
    });

    it(`of ${kind} is Progressing until the operator has seen the object`, async () => {
      expect((await healthOf(kind, { metadata: { generation: 1 }, spec: {} })).status).to.equal('Progressing');
      expect((await healthOf(kind, { metadata: { generation: 2 }, spec: {}, status: { observedGeneration: 1 } })).status).to.equal(
        'Progressing',
      );
    });
  }

  for (const kind of KINDS.filter((one) => one !== 'ScanQueue'))
    it(`of ${kind} is Progressing while its conditions are not written, and whatever the spec says`, async () => {
      const ready = (status: string) => [{ type: 'Ready', status, reason: 'x', message: 'x' }];
      for (const conditions of [undefined, [], ready('False'), ready('Unknown')])
        for (const spec of [{}, { suspend: true, blocked: true }]) {
          const object = { metadata: { generation: 1 }, spec, status: { observedGeneration: 1, conditions } };
          expect((await healthOf(kind, object)).status).to.equal('Progressing');
        }
    });

  it('is in the part of Lua that 5.1 and 5.4 have in common, like the actions', () => {
    const scripts = globSync('**/*.lua', { cwd: ARGO });
    expect(scripts.length).to.be.greaterThan(KINDS.length);
    for (const path of scripts) expect(notPortable(readFileSync(join(ARGO, path), 'utf8')), path).to.deep.equal([]);
    expect(notPortable('goto done\nlocal x = 7 // 2\nlocal y = 1 & 2\nif a ~= b then x = "a|b" end -- //')).to.have.length(3);
  });
});

describe('resource actions', () => {
  const run = (kind: string, name: string, object: object) => runLua(actionsOf(kind)!.actions[name]!, object);
  const possible = (kind: string, object: object) => runLua(actionsOf(kind)!.discovery, object);
  const complete = (status: string) => ({ conditions: [{ type: 'Complete', status, reason: 'x', message: 'x' }] });

  for (const kind of KINDS.filter((one) => actionsOf(one) !== null))
    it(`of ${kind} are those that discovery.lua names`, async () => {
      const named = Object.keys((await possible(kind, { metadata: {}, spec: {} })) as object);
      expect(named).to.have.members(Object.keys(actionsOf(kind)!.actions));
    });

  it('cancel a scan that has not ended', async () => {
    const scan = { metadata: { name: 'shop' }, spec: { url: 'https://example.com/' } };
    expect(await run('AccessibilityScan', 'cancel', scan)).to.deep.equal({ ...scan, spec: { ...scan.spec, cancel: true } });
    expect(await possible('AccessibilityScan', scan)).to.deep.equal({ cancel: { disabled: false } });
    expect(await possible('AccessibilityScan', { ...scan, status: complete('False') })).to.deep.equal({ cancel: { disabled: false } });
    expect(await possible('AccessibilityScan', { ...scan, status: complete('True') })).to.deep.equal({ cancel: { disabled: true } });
  });

  it('run a schedule now, with a new token, and keep its other annotations', async () => {
    for (const annotations of [undefined, { team: 'web' }]) {
      const schedule = { metadata: { name: 'nightly', annotations }, spec: { schedule: '@daily' } };
      const { metadata } = (await run('ScanSchedule', 'run', schedule)) as { metadata: { annotations: Record<string, string> } };
      expect(metadata.annotations).to.include(annotations ?? {});
      expect(metadata.annotations['curbcut.dev/run']).to.match(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
    }
  });

  it('suspend and resume a schedule, pause and resume a queue', async () => {
    for (const [kind, field, stop, go] of [
      ['ScanSchedule', 'suspend', 'suspend', 'resume'],
      ['ScanQueue', 'paused', 'pause', 'resume'],
    ] as const) {
      const stopped = (await run(kind, stop, { metadata: {}, spec: { a: 1 } })) as { spec: object };
      expect(stopped.spec).to.deep.equal({ a: 1, [field]: true });
      expect(await possible(kind, stopped)).to.deep.include({ [stop]: { disabled: true }, [go]: { disabled: false } });
      const resumed = (await run(kind, go, { metadata: {}, ...stopped })) as { spec: object };
      expect(resumed.spec).to.deep.equal({ a: 1, [field]: false });
      expect(await possible(kind, resumed)).to.deep.include({ [stop]: { disabled: false }, [go]: { disabled: true } });
    }
  });
});
