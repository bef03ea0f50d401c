import { expect } from 'chai';
import { KEY, POLL, SCAN_ID, replies, result, running, serviceForTests } from './service.ts';

const CANCEL = `POST /v1/ci/scans/${SCAN_ID}/cancel`;
const ended = replies(409, { detail: 'scan_already_ended', message: 'The scan has ended and cannot be canceled.' });

describe('curbcut cancel', () => {
  const { service, run } = serviceForTests();
  const cancel = (table: Parameters<typeof run>[1], ...args: string[]) => run(['cancel', SCAN_ID, ...args], table);

  it('requests the end of the scan with the API key, and prints how to wait for it: exit code 0', async () => {
    const ran = await cancel({ [CANCEL]: [replies(202, running(), { 'Retry-After': '5' })] });
    expect(ran).to.deep.include({ code: 0, stderr: '' });
    expect(ran.stdout).to.include('The scan is being canceled.').and.to.include(`curbcut follow ${SCAN_ID}`);
    expect(service().requests.map(({ method, path }) => `${method} ${path}`)).to.deep.equal([CANCEL]);
    expect(service().requests[0]!.headers).to.include({ 'x-api-key': KEY });
  });

  it('exits with 1 if the scan has already ended, and prints how', async () => {
    const ran = await cancel({ [CANCEL]: [ended], [POLL]: [replies(200, result())] });
    expect(ran).to.deep.include({ code: 1, stdout: 'The scan has already ended (done); nothing was canceled.\n' });
  });

  it('does not claim to cancel a scan that has ended, although a poll does not show its end yet: exit code 1', async () => {
    const ran = await cancel({ [CANCEL]: [ended], [POLL]: [replies(202, running())] });
    expect(ran).to.deep.include({ code: 1 });
    expect(ran.stdout).to.include('has already ended').and.not.include('being canceled');
    expect(ran.stdout).to.include(`curbcut follow ${SCAN_ID}`);
  });

  it('exits with 0 if the scan was canceled by a request whose response was lost', async () => {
    const ran = await cancel({
      [CANCEL]: [(_, response) => void response.destroy(), ended],
      [POLL]: [replies(422, result({ status: 'canceled', passed: false, score: null }))],
    });
    expect(ran).to.deep.include({ code: 0, stdout: 'The scan is canceled.\n' });
  });

  it('retries while the submission of the scan is in progress', async () => {
    const pending = replies(503, { detail: 'service_unavailable', message: 'Later.' }, { 'Retry-After': '5' });
    const ran = await cancel({ [CANCEL]: [pending, replies(202, running())] });
    expect(ran).to.deep.include({ code: 0, slept: [5000] });
  });

  it('prints the state of the scan with --json, and nothing with --quiet', async () => {
    const table = { [CANCEL]: [replies(202, running())] };
    expect(JSON.parse((await cancel(table, '--json')).stdout)).to.deep.equal(running());
    expect(await cancel(table, '--quiet')).to.deep.include({ code: 0, stdout: '', stderr: '' });
  });

  it('explains a refusal: exit code 2', async () => {
    const message = 'A Kubernetes manifest created this scan; cancel it in the cluster.';
    const ran = await cancel({ [CANCEL]: [replies(409, { detail: 'scan_managed_by_manifest', message })] });
    expect(ran).to.deep.include({ code: 2, stdout: '' });
    expect(ran.stderr).to.include('cancel it in the cluster');
  });

  it('prints that the outcome is unknown if it is interrupted or never answered', async () => {
    const interrupt = new AbortController();
    const ran = await run(['cancel', SCAN_ID], { [CANCEL]: [() => interrupt.abort('SIGINT')] }, { interrupt });
    expect(ran.code).to.equal(130);
    expect(ran.stderr).to.include(`It is unknown whether the scan was canceled. Run the same command again: curbcut cancel ${SCAN_ID}`);
  });
});
