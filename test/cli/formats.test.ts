import { expect } from 'chai';
import { parse } from 'yaml';
import { EVENTS, POLL, SCAN_ID, complete, replies, result, serviceForTests, streams, type Answering } from './service.ts';

const LIST = 'GET /v1/ci/scans';
const CANCEL = `POST /v1/ci/scans/${SCAN_ID}/cancel`;
const REPORT = `GET /v1/scans/${SCAN_ID}/report`;
const page = { data: [{ ...result(), url: 'https://x.example/', submitted_at: '2026-03-02T10:00:00Z' }], next_cursor: null };
const link: Answering = () => ({ status: 200, body: { url: 'https://objects.example/a?b=c', expires_in: 3600 } });

describe('-o', () => {
  const { run } = serviceForTests();
  const commands: [string, string[], Record<string, Answering[]>, unknown][] = [
    ['follow', ['follow', SCAN_ID], { [EVENTS]: [streams(complete(2))], [POLL]: [replies(200, result())] }, result()],
    ['list', ['list'], { [LIST]: [replies(200, page)] }, page],
    ['cancel', ['cancel', SCAN_ID], { [CANCEL]: [replies(202, result({ status: 'scanning' }))] }, result({ status: 'scanning' })],
    [
      'report',
      ['report', SCAN_ID],
      { [REPORT]: [link], [`${REPORT}/json`]: [link] },
      {
        scan_id: SCAN_ID,
        links: {
          pdf: { url: 'https://objects.example/a?b=c', expires_in: 3600 },
          export: { url: 'https://objects.example/a?b=c', expires_in: 3600 },
        },
      },
    ],
  ];
  for (const [name, args, table, data] of commands) {
    it(`json, --json and yaml print the data of ${name} and nothing else`, async () => {
      const ran = await run([...args, '-o', 'json'], table);
      expect(ran).to.deep.include({ code: 0, stderr: '' });
      expect(JSON.parse(ran.stdout)).to.deep.equal(data);
      expect(await run([...args, '--json'], table)).to.deep.equal(ran);
      const { stdout } = await run([...args, '--output=yaml'], table);
      expect(stdout).to.not.match(/^[{[]/);
      expect(parse(stdout)).to.deep.equal(data);
    });
  }

  it('wide adds columns to a list', async () => {
    const [heading, row] = (await run(['list', '-o', 'wide'], { [LIST]: [replies(200, page)] })).stdout.split('\n');
    expect(heading!.split(/ {2,}/)).to.deep.equal([
      'ID',
      'SUBMITTED',
      'STATUS',
      'SCORE',
      'VIOLATIONS',
      'CRITICAL',
      'SERIOUS',
      'MODERATE',
      'MINOR',
      'VERDICT',
      'URL',
      'MESSAGE',
    ]);
    expect(row!.split(/ {2,}/).slice(4)).to.deep.equal(['3', '0', '1', '2', '0', 'passed', 'https://x.example/', '–']);
  });

  it('wide adds the scan ID to a result, and keeps the progress', async () => {
    const ran = await run(['follow', SCAN_ID, '-o', 'wide'], { [EVENTS]: [streams(complete(2))] });
    expect(ran.stdout).to.include('Verdict     ✓ passed\n').and.to.include(`Scan        ${SCAN_ID}\n`);
  });
});
