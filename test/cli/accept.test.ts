/** `curbcut accept`: known issues from a scan, in a manifest. */
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { parse } from 'yaml';
import type { KnownIssuesSpec } from '../../core/protocol/known-issues-resources.ts';
import { KNOWN_ISSUES_MAX } from '../../core/scan/known-issues.ts';
import type { Report } from '../../report/schema/report.ts';
import { smallReport } from '../report/samples.ts';
import { curbcut, replies, routes, SCAN_ID, startService } from './service.ts';

const until = new Date(Date.now() + 90 * 86_400_000).toISOString().slice(0, 10);
const later = new Date(Date.now() + 200 * 86_400_000).toISOString().slice(0, 10);
const WHY = ['--reason', 'The supplier fixes it: in 3.0', '--owner', 'video team', '--until', until];

interface Written {
  apiVersion: string;
  kind: string;
  metadata: { name: string };
  spec: KnownIssuesSpec;
}

describe('curbcut accept', () => {
  let folder: string;
  let source: string;
  let file: string;
  const report = smallReport();
  const [worst, second] = report.groups as [Report['groups'][number], Report['groups'][number]];
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'curbcut-test-'));
    [source, file] = [join(folder, 'report.json'), join(folder, 'known.yaml')];
    await writeFile(source, JSON.stringify(report));
  });
  afterEach(() => rm(file, { force: true }));
  after(() => rm(folder, { recursive: true, force: true }));

  const accept = (...args: string[]) => curbcut(['accept', source, ...args], { environment: {} });
  const read = async (): Promise<Written> => parse(await readFile(file, 'utf8')) as Written;
  const fingerprints = ({ spec }: Written) => spec.issues.map(({ fingerprint }) => fingerprint);

  it('prints a manifest with the root cause', async () => {
    const ran = await accept('--fingerprint', worst.fingerprint, ...WHY);
    expect(ran).to.deep.include({ code: 0, stderr: '' });
    const issue = { reason: 'The supplier fixes it: in 3.0', owner: 'video team', expiresAt: `${until}T00:00:00Z` };
    expect(parse(ran.stdout)).to.deep.equal({
      apiVersion: 'curbcut.dev/v1',
      kind: 'KnownIssues',
      metadata: { name: 'www.example.org' },
      spec: { site: 'www.example.org', issues: [{ fingerprint: worst.fingerprint, ...issue }] },
    });
    expect(ran.stdout).to.match(new RegExp(`^ +# ${worst.rule}: .*elements? on \\d+ pages?`, 'm'));
  });

  it('accepts elements of a rule by their selector, for another host', async () => {
    const selector = 'header > a > .logo';
    const ran = await accept('--rule', 'image-alt', '--selector', selector, '--site', 'https://Shop.example:8443', ...WHY);
    const { metadata, spec } = parse(ran.stdout) as Written;
    expect(spec).to.deep.include({ site: 'shop.example:8443' });
    expect([metadata.name, spec.issues[0]!.rule, spec.issues[0]!.selector]).to.deep.equal(['shop.example-8443', 'image-alt', selector]);
    const framed = 'iframe[title="Contact form"] >>> contact-form >>> #address input[name="street"]';
    expect((await accept('--rule', 'label', '--selector', framed, ...WHY)).code).to.equal(0);
  });

  it('decides what needs review, beside what is accepted about the same', async () => {
    const [review] = report.review_groups;
    const ran = await accept('--kind', 'fine', '--fingerprint', review!.fingerprint, '-o', file, ...WHY);
    expect(ran.stdout).to.include('1 added');
    const decisions = (await read()).spec.issues;
    expect(decisions[0]).to.deep.include({ kind: 'fine', fingerprint: review!.fingerprint });
    expect((await accept('--kind', 'fault', '--fingerprint', review!.fingerprint, '-o', file, ...WHY)).stdout).to.include('1 changed');
    expect((await read()).spec.issues[0]).to.deep.include({ kind: 'fault', fingerprint: review!.fingerprint });
    expect((await accept('--kind', 'fine', '--fingerprint', worst.fingerprint, ...WHY)).stderr).to.include('The scan has no root cause');
    expect((await accept('--kind', 'maybe', '--all', ...WHY)).stderr).to.include('--kind maybe must be one of accepted, fine, fault.');
  });

  it('accepts all root causes that are not known, and renews those that have ended', async () => {
    expect((await accept('--all', '-o', file, ...WHY)).stdout).to.include(`${report.groups.length} added, 0 changed, 0 kept.`);
    const manifest = await read();
    expect(fingerprints(manifest)).to.deep.equal(report.groups.map(({ fingerprint }) => fingerprint));
    const [first] = manifest.spec.issues;
    await writeFile(file, (await readFile(file, 'utf8')).replace(first!.expiresAt, '2020-01-31T00:00:00Z'));
    const again = await accept('--all', '-o', file, '--reason', 'other', '--owner', 'web', '--until', later);
    expect(again.stdout).to.include(`0 added, 1 changed, ${report.groups.length - 1} kept.`);
    expect((await read()).spec.issues.map(({ reason }) => reason === 'other')).to.deep.equal(report.groups.map((_, index) => index === 0));
  });

  it('changes the one that has not ended, if one about the same has', async () => {
    await accept('--fingerprint', worst.fingerprint, '-o', file, ...WHY);
    const manifest = await read();
    const [issue] = manifest.spec.issues;
    const ended = { ...issue!, expiresAt: '2020-01-31T00:00:00Z' };
    await writeFile(file, JSON.stringify({ ...manifest, spec: { ...manifest.spec, issues: [ended, issue, ended] } }));
    expect((await accept('--all', '-o', file, ...WHY)).stdout).to.include('0 changed, 1 kept.');
    expect((await accept('--fingerprint', worst.fingerprint, '-o', file, ...WHY.slice(0, 4), '--until', later)).code).to.equal(0);
    const { issues } = (await read()).spec;
    expect(issues.slice(0, 3).map(({ expiresAt }) => expiresAt)).to.deep.equal([ended.expiresAt, `${later}T00:00:00Z`, ended.expiresAt]);
    expect((await accept('--all', '-o', file, ...WHY)).code, 'the file is right').to.equal(0);
  });

  it('leaves out what the scan knows already', async () => {
    const known = join(folder, 'known.json');
    const groups = report.groups.map((group, index) => (index === 0 ? group : { ...group, known_elements: group.elements }));
    await writeFile(known, JSON.stringify({ ...report, groups }));
    const ran = await curbcut(['accept', known, '--all', ...WHY], { environment: {} });
    expect(fingerprints(parse(ran.stdout) as Written)).to.deep.equal([worst.fingerprint]);
    await writeFile(known, JSON.stringify({ ...report, groups: [] }));
    const none = await curbcut(['accept', known, '--all', ...WHY], { environment: {} });
    expect(none).to.deep.include({ code: 0, stdout: '' });
    expect(none.stderr).to.include('There is nothing to accept');
  });

  it('merges into a file, and leaves comments, order and other documents as they are', async () => {
    const before = [
      '# Reviewed each quarter.',
      'apiVersion: curbcut.dev/v1',
      'kind: KnownIssues',
      'metadata:',
      '  name: shop # the name',
      '  namespace: web',
      'spec:',
      '  site: https://www.example.org',
      '  issues:',
      '  # the logo',
      `  - fingerprint: ${second.fingerprint} # as reported`,
      "    reason: 'old'",
      '    owner: web',
      '    expiresAt: 2020-01-31T00:00:00Z',
      '---',
      '# Not ours.',
      'apiVersion: v1',
      'kind: Namespace',
      'metadata: { name: web }',
    ];
    await writeFile(file, `${before.join('\n')}\n`);
    const ran = await accept('--fingerprint', worst.fingerprint, '--fingerprint', second.fingerprint, '-o', file, ...WHY);
    expect(ran.stdout).to.include('1 added, 1 changed, 0 kept.');
    const written = (await readFile(file, 'utf8')).split('\n');
    const isChanged = (line: string): boolean => /^ {4}(reason|expiresAt|owner)/.test(line);
    expect(written).to.include.members(before.filter((line) => !isChanged(line)));
    expect(written.slice(0, before.length - 9)).to.deep.equal(before.slice(0, before.length - 9));
    expect(written.filter((line) => /^ {2}- fingerprint/.test(line))).to.have.length(2);
  });

  it('adds a manifest for another site to the file, and keeps JSON as it is', async () => {
    const manifest = (site: string, name: string) => ({
      apiVersion: 'curbcut.dev/v1',
      kind: 'KnownIssues',
      metadata: { name },
      spec: { site, issues: [] },
    });
    await writeFile(file, JSON.stringify(manifest('other.example', 'other')));
    expect((await accept('--fingerprint', worst.fingerprint, '-o', file, ...WHY)).code).to.equal(0);
    expect((await readFile(file, 'utf8')).match(/^---$/gm)).to.have.length(1);
    const json = join(folder, 'issues.json');
    await writeFile(json, JSON.stringify(manifest('www.example.org', 'mine')));
    expect((await accept('--fingerprint', worst.fingerprint, '-o', json, ...WHY)).code).to.equal(0);
    expect(fingerprints(JSON.parse(await readFile(json, 'utf8')) as Written)).to.deep.equal([worst.fingerprint]);
    const other = await accept('--fingerprint', worst.fingerprint, '-o', json, '--name', 'another', ...WHY);
    expect([other.code, other.stderr.includes('several manifests')]).to.deep.equal([2, true]);
  });

  it('writes text that kubectl, which reads YAML 1.1, takes for text', async () => {
    const kubectl = async (): Promise<Written> => {
      const env = { PATH: process.env['PATH'], KUBECONFIG: '/dev/null' };
      const args = ['annotate', '--local', '-f', file, 'read=yes', '-o', 'json'];
      return JSON.parse((await promisify(execFile)('kubectl', args, { env })).stdout) as Written;
    };
    const accepted = (fingerprint: string, reason: string, owner: string) =>
      accept('--fingerprint', fingerprint, '-o', file, ...WHY, '--reason', reason, '--owner', owner, '--name', '010');
    const expiresAt = `${until}T00:00:00Z`;
    await accepted(worst.fingerprint, 'no', 'on');
    await accepted(second.fingerprint, '1_000', 'Yes');
    const { metadata, spec } = await kubectl();
    expect(metadata.name).to.equal('010');
    expect(spec.issues).to.deep.equal([
      { fingerprint: worst.fingerprint, reason: 'no', owner: 'on', expiresAt },
      { fingerprint: second.fingerprint, reason: '1_000', owner: 'Yes', expiresAt },
    ]);
    // kubectl takes times for text, so they need no quotes.
    expect(await readFile(file, 'utf8')).to.include(`expiresAt: ${expiresAt}\n`);
  });

  it('reads the export of a scan from the service', async () => {
    let url = '';
    const link = `GET /v1/scans/${SCAN_ID}/report/json`;
    const table = { [link]: [() => ({ status: 200, body: { url, expires_in: 60 } })], 'GET /object': [replies(200, report)] };
    const service = await startService(routes(table));
    url = `${service.url}/object`;
    try {
      const ran = await curbcut(['accept', SCAN_ID, '--all', ...WHY], { url: service.url });
      expect(fingerprints(parse(ran.stdout) as Written)).to.have.length(report.groups.length);
    } finally {
      await service.close();
    }
  });

  it('refuses what it cannot do: exit code 2', async () => {
    const one = ['--fingerprint', worst.fingerprint];
    const wrong = join(folder, 'wrong.yaml');
    await writeFile(wrong, 'apiVersion: curbcut.dev/v1\nkind: KnownIssues\nmetadata:\n  name: a\nspec:\n  site: a b\n  issues: []\n');
    const full = join(folder, 'full.yaml');
    const issues = Array.from({ length: KNOWN_ISSUES_MAX }, (_, index) => ({ fingerprint: index.toString(16).padStart(16, '0'), reason: 'r', owner: 'o', expiresAt: '2020-01-31T00:00:00Z' })); // prettier-ignore
    await writeFile(full, JSON.stringify({ apiVersion: 'curbcut.dev/v1', kind: 'KnownIssues', metadata: { name: 'a' }, spec: { site: 'www.example.org', issues } })); // prettier-ignore
    const other = join(folder, 'other.yaml');
    await writeFile(other, 'apiVersion: curbcut.dev/v1\nkind: KnownIssues\nmetadata: {name: a}\nspec: {site: a.example, issues: []}\n');
    const old = join(folder, 'old.json');
    await writeFile(old, JSON.stringify({ ...report, fingerprint_version: 1 }));
    for (const [args, said] of [
      [WHY, 'What is accepted?'],
      [[...one, '--all', ...WHY], 'Only one of'],
      [['--fingerprint', '0123456789abcdef', ...WHY], 'The scan has no root cause 0123456789abcdef.'],
      [['--rule', 'image-alt', '--selector', 'x', ...WHY], 'Selectors of this rule:\n  header > a > .logo'],
      [['--rule', 'label', ...WHY], '--rule and --selector belong together'],
      [[...one, '--reason', 'r', '--owner', 'o'], '--reason, --owner and --until are needed'],
      [[...one, ...WHY, '--reason', ' '], '--reason must not be empty'],
      [[...one, ...WHY, '--until', '2020-01-31'], 'must end in the future'],
      [[...one, ...WHY, '--name', 'A b'], '--name A b must be the name of a resource'],
      [[...one, ...WHY, '-o', folder], 'cannot be read'],
      [[...one, ...WHY, '-o', wrong], `${wrong}, line 6: spec.site: must be a host`],
      [[...one, ...WHY, '-o', full], `would have ${KNOWN_ISSUES_MAX + 1} known issues`],
      [[...one, ...WHY, '-o', other, '--name', 'a'], 'The manifest a is for the site a.example'],
    ] as const) {
      const ran = await accept(...args);
      expect([ran.code, ran.stdout, ran.stderr.includes(said)], ran.stderr).to.deep.equal([2, '', true]);
    }
    expect((await curbcut(['accept', old, '--all', ...WHY], { environment: {} })).stderr).to.include('by another version');
  });
});
