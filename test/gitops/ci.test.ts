/** The steps of examples/ci/github-actions.yaml: the commands that they run exist, and mean what the comments say. */
import { accessSync, constants, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { parse } from 'yaml';
import { accepts, complete, curbcut, EVENTS, routes, startService, streams, SUBMIT } from '../cli/service.ts';
import { ROOT } from './manifests.ts';

interface Workflow {
  jobs: Record<string, { env?: Record<string, string>; steps: { run?: string }[] }>;
}

const { jobs } = parse(readFileSync(join(ROOT, 'examples/ci/github-actions.yaml'), 'utf8')) as Workflow;
const SHA = '3f2b8c1e6a4d4f0e9b7a1c2d3e4f5a6b7c8d9e0f';

/** The words of the step that contains a text, with the expressions of GitHub filled in. */
function step(job: string, containing: string): string[] {
  const { run } = jobs[job]!.steps.find((one) => one.run?.includes(containing))!;
  const filled = run!.replace(/\$\{\{ (\S+) \}\}/g, (_, name: string) => {
    const value = { 'github.event.number': '12', 'github.event.pull_request.head.sha': SHA }[name];
    if (value === undefined) throw new Error(`no value for ${name}`);
    return value;
  });
  return filled.split(' ').map((word) => word.replace(/^"(.*)"$/, '$1'));
}

describe('examples/ci/github-actions.yaml', () => {
  for (const [passed, code] of [
    [true, 0],
    [false, 1],
  ] as const)
    it(`exits with ${code} over HTTP if the scan ${passed ? 'passed' : 'did not pass'}`, async () => {
      const service = await startService(routes({ [SUBMIT]: [accepts], [EVENTS]: [streams(complete(2, { passed }))] }));
      try {
        const [program, ...words] = step('over-http', 'curbcut scan');
        expect(program).to.match(/\/bin\/curbcut$/);
        // Without the file, which this service does not have.
        const at = words.indexOf('--pdf');
        expect(words[at + 1]).to.equal('accessibility.pdf');
        const ran = await curbcut(words.toSpliced(at, 2), { url: service.url });
        expect(ran.code, ran.stderr).to.equal(code);
        const [submission] = service.of('POST', '/v1/ci/scans');
        expect(submission!.body).to.deep.include({
          url: 'https://pr-12.preview.example.com',
          max_pages: 20,
          min_score: 90,
          fail_on_severity: 'serious',
        });
        expect(submission!.headers['idempotency-key']).to.equal(`pr-12-${SHA}`);
      } finally {
        await service.close();
      }
    });

  it('gives the service and the key as the command reads them', () => {
    expect(Object.keys(jobs['over-http']!.env!)).to.deep.equal(['CURBCUT_URL', 'CURBCUT_API_KEY']);
  });

  it('calls the script with a namespace, a valid name of a resource, and a URL', () => {
    const [script, namespace, name, url, ...rest] = step('by-manifest', 'scan.sh');
    accessSync(join(ROOT, script!), constants.X_OK);
    expect([namespace, url, rest]).to.deep.equal(['shop-previews', 'https://pr-12.preview.example.com', []]);
    expect(name).to.match(/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/);
  });
});
