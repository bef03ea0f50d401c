import { expect } from 'chai';
import { opened } from '../../support/opened.ts';
import { openCluster, QUEUES, SCANS, SCHEDULES } from './cluster.ts';

describe('kubectl curbcut: completion', () => {
  const cluster = opened(() => openCluster());
  before(async () => {
    const spec = { url: 'https://shop.example/' };
    for (const name of ['shop', 'blog']) await cluster.create(SCANS, { kind: 'AccessibilityScan', metadata: { name }, spec });
    await cluster.create(QUEUES, { kind: 'ScanQueue', metadata: { name: 'default' }, spec: {} });
    await cluster.create(SCHEDULES, {
      kind: 'ScanSchedule',
      metadata: { name: 'nightly' },
      spec: { schedule: '@daily', scanTemplate: { spec } },
    });
  });

  const completions: [string[], string[]][] = [
    [['c'], ['cancel']],
    [['re'], ['report']],
    [
      ['follow', ''],
      ['blog', 'shop'],
    ],
    [['cancel', 'sh'], ['shop']],
    [
      ['diff', 'blog', ''],
      ['blog', 'shop'],
    ],
    [['queue', ''], ['default']],
    [['run', ''], ['schedule/nightly']],
    [['follow', 'shop', ''], []],
    [['list', ''], []],
    [['follow', '-n', 'shop', 'b'], ['blog']],
    [['follow', '-n', ''], []],
    [['follow', '--max-wait', '5', 'sh'], ['shop']],
    [['scan', '--queu'], ['--queue']],
    [['list', '-o', 'y'], ['yaml']],
    [['nothing', ''], []],
  ];
  for (const [words, expected] of completions)
    it(`completes ${JSON.stringify(words.join(' '))} to ${expected.length === 0 ? 'nothing' : expected.join(', ')}`, async () => {
      const { stdout, code } = await cluster.plugin(['__complete', ...words]);
      expect(code).to.equal(0);
      const found = stdout.split('\n').map((line) => line.split('\t')[0]);
      expect(found).to.deep.equal([...expected, ':4', '']);
    });

  it('completes without names if there is no cluster', async () => {
    const { stdout, stderr } = await cluster.plugin(['__complete', 'follow', ''], { environment: { KUBECONFIG: '/none' } });
    expect({ stdout, stderr }).to.deep.equal({ stdout: ':4\n', stderr: '' });
  });

  it('is asked for by kubectl', async () => {
    const { stdout } = await cluster.kubectl('__complete', 'curbcut', 'follow', 's');
    expect(stdout).to.equal('shop\n:4\n');
  });
});
