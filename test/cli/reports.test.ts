import { mkdtemp, readFile, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { SCAN_ID, complete, SUBMIT, EVENTS, accepts, streams, replies, serviceForTests, type Answering } from './service.ts';

describe('curbcut scan: reports', () => {
  const { service, scan } = serviceForTests();
  let folder: string;
  before(async () => (folder = await mkdtemp(join(tmpdir(), 'curbcut-cli-'))));
  after(() => rm(folder, { recursive: true }));
  const PDF = `GET /v1/scans/${SCAN_ID}/report`;
  const JSON_EXPORT = `GET /v1/scans/${SCAN_ID}/report/json`;
  const link =
    (path: string): Answering =>
    () => ({ status: 200, body: { url: `${service().url}${path}`, expires_in: 3600 } });

  it('are saved to files, without sending the API key to the object store', async () => {
    const ran = await scan(
      {
        [SUBMIT]: [accepts],
        [EVENTS]: [streams(complete(2))],
        [PDF]: [link('/objects/a.pdf')],
        [JSON_EXPORT]: [link('/objects/a.json')],
        'GET /objects/a.pdf': [replies(200, Buffer.from('%PDF-1.7'))],
        'GET /objects/a.json': [replies(200, '{"schema_version":1}')],
      },
      ['--pdf', join(folder, 'a.pdf'), '--export', join(folder, 'a.json')],
    );
    expect(ran.code).to.equal(0);
    expect(await readFile(join(folder, 'a.pdf'), 'utf8')).to.equal('%PDF-1.7');
    expect(await readFile(join(folder, 'a.json'), 'utf8')).to.equal('{"schema_version":1}');
    expect(ran.stdout).to.include(`Saved       ${join(folder, 'a.pdf')}, ${join(folder, 'a.json')}`);
    for (const seen of service().of('GET', /objects/)) expect(seen.headers).to.not.have.property('x-api-key');
  });

  it('are reported after the verdict if they cannot be saved: exit code 2', async () => {
    const ran = await scan(
      {
        [SUBMIT]: [accepts],
        [EVENTS]: [streams(complete(2))],
        [PDF]: [link('/objects/c.pdf')],
        'GET /objects/c.pdf': [replies(500, '')],
      },
      ['--pdf', join(folder, 'c.pdf')],
    );
    expect(ran.code).to.equal(2);
    expect(ran.stdout).to.include('✓ passed').and.not.include('Saved');
    expect(ran.stderr).to.include(`curbcut report ${SCAN_ID} --pdf ${join(folder, 'c.pdf')}`);
    expect((await readdir(folder)).filter((name) => name.startsWith('c.'))).to.deep.equal([]);
  });

  it('are not requested and nothing is submitted if the folder does not exist: exit code 2', async () => {
    const ran = await scan({ [SUBMIT]: [accepts] }, ['--pdf', join(folder, 'nowhere', 'a.pdf')]);
    expect(ran.code).to.equal(2);
    expect(ran.stderr).to.include('does not exist or is not writable');
    expect(service().requests).to.have.length(0);
  });
});
