import { expect } from 'chai';
import { X509Certificate } from 'node:crypto';
import { makeCertificate } from './credentials.ts';
import { humanDuration } from './printing/table-columns.ts';
import { policyVerdict } from './controllers/job-plan.ts';
import { jsonPath } from './printing/tables.ts';
import { mergePatch, strategicPatch } from './api-server/bodies.ts';
import { rewritten } from './kubelet/pod-files.ts';
import { unschedulable } from './kubelet/kubelet.ts';
import { labelSelector } from './api-server/watch.ts';
import { StatusError } from './status.ts';
import type { KubeObject, Pod } from './types.ts';

const labelled = (labels: Record<string, string>): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Thing',
  metadata: { name: 'x', uid: 'u', resourceVersion: '1', creationTimestamp: '', labels },
});

describe('ages', () => {
  const cases: [number, string][] = [
    [0, '0s'],
    [120, '2m'],
    [135, '2m15s'],
    [3 * 3600 - 1, '179m'],
    [50 * 3600, '2d2h'],
    [800 * 86400, '2y70d'],
  ];
  for (const [seconds, text] of cases) it(`prints ${seconds} s as ${text}`, () => expect(humanDuration(seconds * 1000)).to.equal(text));
});

describe('label selectors', () => {
  const cases: [string, Record<string, string>, boolean][] = [
    ['', {}, true],
    ['a=b', { a: 'b' }, true],
    ['a==b,c!=d', { a: 'b' }, true],
    ['a!=b', { a: 'b' }, false],
    ['a', {}, false],
    ['!a', {}, true],
    ['a in (b, c),d notin (e)', { a: 'c' }, true],
    ['a in(b)', { a: 'b' }, true],
    ['a notin (b)', { a: 'b' }, false],
    ['test.dev/a-b=c.d', { 'test.dev/a-b': 'c.d' }, true],
  ];
  for (const [selector, labels, matches] of cases) {
    it(`'${selector}' ${matches ? 'matches' : 'does not match'} ${JSON.stringify(labels)}`, () => {
      expect(labelSelector(selector)(labelled(labels))).to.equal(matches);
    });
  }
  it('reject invalid text', () => expect(() => labelSelector('a===b')).to.throw(StatusError, "found '=', expected: identifier"));
});

describe('JSONPath of columns', () => {
  const object = {
    spec: { a: 1 },
    status: {
      list: [
        { t: 'X', v: 'x' },
        { t: 'Y', v: 'y' },
      ],
      'a.b': 2,
    },
  };
  const cases: [string, unknown][] = [
    ['.spec.a', 1],
    ['.spec.none.deeper', undefined],
    ['.status.list[1].v', 'y'],
    ['.status.list[?(@.t=="Y")].v', 'y'],
    [".status.list[?(@.t=='Z')].v", undefined],
    ['.status.list[*].t', 'X'],
    ['.status.a\\.b', 2],
    [".status['a.b']", 2],
  ];
  for (const [path, value] of cases) it(`reads ${path}`, () => expect(jsonPath(path)(object)).to.deep.equal(value));
  it('rejects unsupported syntax', () => expect(() => jsonPath('.a[0:1]')).to.throw('[0:1]'));
});

describe('patches', () => {
  it('merges by RFC 7386', () => {
    const target = { a: 'b', c: { d: 'e', f: 'g' } };
    expect(mergePatch(target, { a: 'z', c: { f: null } })).to.deep.equal({ a: 'z', c: { d: 'e' } });
    expect(mergePatch({ a: [1] }, { a: null, b: { c: null } })).to.deep.equal({ b: {} });
    expect(target, 'the target is left alone').to.deep.equal({ a: 'b', c: { d: 'e', f: 'g' } });
  });

  it('merges strategically what has no lists', () => {
    expect(strategicPatch({ a: { b: '1', c: '2' } }, { a: { b: null, d: '3' } })).to.deep.equal({ a: { c: '2', d: '3' } });
    for (const patch of [{ list: [1] }, { a: { $patch: 'replace' } }]) expect(() => strategicPatch({}, patch)).to.throw(StatusError);
  });
});

describe('certificate', () => {
  it('is valid for its hosts and self-signed', () => {
    const { certificate } = makeCertificate(['127.0.0.1', '::1', 'localhost'], new Date('2026-01-01T00:00:00Z'));
    const read = new X509Certificate(certificate);
    expect(read.verify(read.publicKey)).to.equal(true);
    expect(read.ca).to.equal(true);
    expect(read.checkIP('127.0.0.1')).to.equal('127.0.0.1');
    expect(read.checkIP('::1')).to.equal('::1');
    expect(read.checkHost('localhost')).to.equal('localhost');
    expect(read.checkHost('elsewhere.test')).to.equal(undefined);
    expect(read.validFromDate.toISOString()).to.equal('2025-12-31T23:00:00.000Z');
  });
});

describe('scheduling', () => {
  const cases: [string, object, boolean][] = [
    ['fits a pod without constraints', {}, true],
    ['fits a matching node selector', { nodeSelector: { 'kubernetes.io/os': 'linux' } }, true],
    ['rejects another node selector', { nodeSelector: { disk: 'ssd' } }, false],
    ['rejects a required affinity', { affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: {} } } }, false],
  ];
  for (const [name, spec, fits] of cases) it(name, () => expect(unschedulable({ containers: [], ...spec }) === null).to.equal(fits));
});

describe('container paths', () => {
  const paths = [
    ['/run/curbcut/deep', '/tmp/deep'],
    ['/run/curbcut', '/tmp/a'],
  ] as const;
  const cases: [string, string][] = [
    ['/run/curbcut', '/tmp/a'],
    ['/run/curbcut/scan.json', '/tmp/a/scan.json'],
    ['/run/curbcut/deep/x', '/tmp/deep/x'],
    ['/run/curbcutter', '/run/curbcutter'],
    ['--in=/run/curbcut', '--in=/run/curbcut'],
  ];
  for (const [from, to] of cases) it(`maps ${from} to ${to}`, () => expect(rewritten(from, paths)).to.equal(to));
});

describe('pod failure policy', () => {
  const pod = {
    metadata: { namespace: 'n', name: 'p' },
    status: {
      conditions: [{ type: 'DisruptionTarget', status: 'True' }],
      containerStatuses: [
        { name: 'main', state: { terminated: { exitCode: 42 } } },
        { name: 'side', state: { terminated: { exitCode: 0 } } },
      ],
    },
  } as unknown as Pod;
  const disrupted = { onPodConditions: [{ type: 'DisruptionTarget' }] };
  it('applies the first matching rule', () => {
    const verdict = policyVerdict(pod, [
      { action: 'FailJob', onExitCodes: { operator: 'In', values: [1] } },
      { action: 'FailJob', onExitCodes: { containerName: 'side', operator: 'NotIn', values: [1] } },
      { action: 'Ignore', ...disrupted },
      { action: 'FailJob', onExitCodes: { operator: 'In', values: [42] } },
    ]);
    expect(verdict.action).to.equal('Ignore');
  });
  it('reports the matching rule', () => {
    const { message } = policyVerdict(pod, [{ action: 'FailJob', ...disrupted }]);
    expect(message).to.equal('Pod n/p has condition DisruptionTarget matching FailJob rule at index 0');
  });
  it('counts a failure without a matching rule', () => expect(policyVerdict(pod, []).action).to.equal('Count'));
});
