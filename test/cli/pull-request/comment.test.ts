/** `curbcut comment`: the text, and where it is written. */
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { writeLogin } from '../../../cli/config.ts';
import { smallReport } from '../../report/samples.ts';
import { createAuthority, restoreAuthorities, startTlsFront } from '../../support/private-authority.ts';
import { curbcut, KEY, replies, routes, SCAN_ID, startService } from '../service.ts';
import { own, startForge, TOKEN, written, type Forge } from './forges.ts';

const MARKER = '<!-- curbcut:www.example.org -->';
type Environment = Record<string, string | undefined>;

describe('curbcut comment', () => {
  restoreAuthorities();
  let folder: string;
  let file: string;
  let event: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'curbcut-test-'));
    [file, event] = [join(folder, 'report.json'), join(folder, 'event.json')];
    await writeFile(file, JSON.stringify(smallReport()));
    await writeFile(event, JSON.stringify({ action: 'synchronize', number: 12, pull_request: { number: 12 } }));
  });
  after(() => rm(folder, { recursive: true, force: true }));

  describe('without a system', () => {
    const print = (args: string[], environment: Environment = {}) => curbcut(['comment', ...args], { environment });

    it('prints the text of a file', async () => {
      const ran = await print([file]);
      expect(ran).to.deep.include({ code: 0, stderr: '' });
      expect(ran.stdout)
        .to.match(new RegExp(`^${MARKER}\n`))
        .and.not.include('Open the full report');
    });

    it('links to the dashboard of the service, or to --link, and has the name of --name and the causes of --max-causes', async () => {
      const service = 'https://curbcut.example.com';
      expect((await print([file], { CURBCUT_URL: `${service}/` })).stdout).to.include(`(${service}/dashboard/scans/${SCAN_ID})`);
      const other = await print([file, '--link', 'https://ci.example/7', '--name', 'shop -- de'], { CURBCUT_URL: service });
      expect(other.stdout).to.include('(https://ci.example/7)').and.not.include(service);
      expect(other.stdout).to.match(/^<!-- curbcut:shop%20%2D%2D%20de -->\n/);
      expect((await print([file, '--max-causes', '0'])).stdout).to.not.include('How to fix it');
    });

    it('has no link to a page that does not exist: of a scan with --local', async () => {
      const local = join(folder, 'local.json');
      const report = smallReport();
      await writeFile(local, JSON.stringify({ ...report, scan: { ...report.scan, local: true } }));
      const { stdout } = await print([local], { CURBCUT_URL: 'https://curbcut.example.com' });
      expect(stdout).to.include(MARKER).and.not.include('curbcut.example.com');
      expect((await print([local, '--link', 'https://ci.example/7'])).stdout).to.include('(https://ci.example/7)');
    });

    it('reads the export of a scan from the service, and links to that of a stored login only then', async () => {
      const link = `GET /v1/scans/${SCAN_ID}/report/json`;
      let url = '';
      const table = { [link]: [() => ({ status: 200, body: { url, expires_in: 60 } })], 'GET /object': [replies(200, smallReport())] };
      const service = await startService(routes(table));
      url = `${service.url}/object`;
      const login = join(folder, 'curbcut/login.json');
      try {
        await writeLogin(login, { url: service.url, apiKey: KEY });
        expect((await print([SCAN_ID], { XDG_CONFIG_HOME: folder })).stdout).to.include(`${service.url}/dashboard/scans/${SCAN_ID}`);
        // A file needs no service, so a login that cannot be used changes nothing.
        for (const mode of [0o600, 0o644]) {
          await chmod(login, mode);
          const ran = await print([file], { XDG_CONFIG_HOME: folder });
          expect(ran).to.deep.include({ code: 0, stderr: '' });
          expect(ran.stdout).to.include(MARKER).and.not.include(service.url);
        }
      } finally {
        await service.close();
      }
    });

    it('prints no text of a page as a command of the CI system', async () => {
      const hostile = join(folder, 'hostile.json');
      await writeFile(hostile, JSON.stringify(smallReport()).replaceAll('main > .teaser', '##[add-mask] ##vso[task.complete]'));
      const { stdout } = await print([hostile]);
      expect(stdout)
        .to.include('# #[add-mask] # #vso[task.complete]')
        .and.not.match(/##(vso)?\[/);
    });

    it('refuses what it cannot do: exit code 2', async () => {
      for (const [args, said] of [
        [[], "Missing required argument 'FILE|ID'"],
        [[join(folder, 'none.json')], 'cannot be read'],
        [[event], 'does not understand'],
        [[file, '--github', '--gitlab'], 'cannot be used together'],
        [[file, '--pull-request', '3'], 'needs --github or --gitlab'],
        [[file, '--link', 'javascript:1'], 'is not a web address'],
        [[file, '--name', ''], '--name must have'],
        [[file, '--max-characters', '100'], 'is less than'],
      ] as const) {
        const ran = await print([...args]);
        expect([ran.code, ran.stdout, ran.stderr.includes(said)], ran.stderr).to.deep.equal([2, '', true]);
      }
    });
  });

  for (const kind of ['github', 'gitlab'] as const)
    describe(`on ${kind}`, () => {
      let forge: Forge;
      beforeEach(async () => {
        forge = await startForge(kind);
      });
      afterEach(() => forge.close());
      const variables = (): Environment =>
        kind === 'github'
          ? { GITHUB_TOKEN: TOKEN, GITHUB_REPOSITORY: 'acme/shop', GITHUB_API_URL: forge.url, GITHUB_EVENT_PATH: event }
          : { GITLAB_TOKEN: TOKEN, CI_API_V4_URL: `${forge.url}/api/v4`, CI_PROJECT_ID: '7', CI_MERGE_REQUEST_IID: '12' };
      const publish = async (args: string[] = [], environment: Environment = {}) => {
        const ran = await curbcut(['comment', file, `--${kind}`, ...args], { environment: { ...variables(), ...environment } });
        expect(ran.stdout + ran.stderr).to.not.include(TOKEN);
        return ran;
      };

      it('writes the comment, and updates it the next time', async () => {
        const first = await publish();
        expect(first).to.deep.include({ code: 0, stdout: '' });
        expect(first.stderr).to.match(/^The comment on Git\w+ was created\.$/m);
        expect(forge.comments).to.have.length(1);
        forge.comments[0]!.body = `${MARKER}\nan old one`;
        const second = await publish(['--print']);
        expect(second.stderr).to.include('was updated');
        expect(second.stdout).to.include(MARKER);
        expect(forge.comments).to.have.length(1);
        expect(forge.comments[0]!.body).to.include('How to fix it');
        await publish();
        expect(
          forge.requests.filter(({ method }) => method !== 'GET'),
          'nothing if the text is the same',
        ).to.have.length(2);
      });

      it('finds the comment on a later page, and one for each site', async () => {
        for (let id = 1; id <= 230; id += 1) forge.comments.push(written(id, 'Looks good to me.'));
        forge.comments.push(own(231, '<!-- curbcut:other.example -->\nother'), own(232, `${MARKER}\nold`));
        await publish();
        expect(forge.comments).to.have.length(232);
        expect(forge.comments.at(-1)!.body).to.include('How to fix it');
        await publish(['--name', 'second']);
        expect(forge.comments).to.have.length(233);
      });

      it('does not change a comment of somebody else who copied the marker', async () => {
        forge.comments.push(written(1, `${MARKER}\n✅ passed`), written(2, `I wrote ${MARKER}`, { author: 41898282, type: 'Bot' }));
        await publish();
        expect(forge.comments.map(({ body }) => body.slice(0, 60))).to.deep.include.members([`${MARKER}\n✅ passed`, `I wrote ${MARKER}`]);
        expect(forge.comments).to.have.length(3);
      });

      it('changes comments of other apps only with a token of GitHub that may not ask for its account', async () => {
        forge.comments.push(written(1, `${MARKER}\nof another app`, { author: 77, type: 'Bot' }));
        await publish();
        expect(forge.comments).to.have.length(kind === 'github' ? 1 : 2);
      });

      it('waits for a rate limit as long as the system asks, and retries other failures', async () => {
        forge.failures.push({ status: 429, headers: { 'Retry-After': '7' } }, { status: 502 });
        const ran = await publish();
        expect([ran.code, ran.slept]).to.deep.equal([0, [7000, 1000]]);
        expect(ran.stderr).to.match(/The rate limit of Git\w+ is reached; retrying in 7 s\./);
      });

      it('writes one comment if the answer is lost', async () => {
        forge.failures.push({ status: 504, done: true, at: 'POST' });
        expect((await publish()).code).to.equal(0);
        expect(forge.comments).to.have.length(1);
      });

      it('gives up after --max-wait: exit code 2', async () => {
        for (let times = 0; times < 9; times += 1) forge.failures.push({ status: 503 });
        const ran = await publish(['--max-wait', '5']);
        expect(ran.code).to.equal(2);
        expect(ran.stderr).to.include('answered 503').and.include('--max-wait 5');
      });

      it('says which permission is missing: exit code 2', async () => {
        const permission = kind === 'github' ? 'pull-requests: write' : 'scope `api`';
        for (const status of [403, 404]) {
          forge.failures.push({ status, body: { message: `no ${TOKEN}` }, at: 'POST' });
          const ran = await publish();
          expect(ran.code).to.equal(2);
          expect(ran.stderr).to.include(`(${status}: no (hidden))`).and.include(permission);
        }
        const wrong = await publish([], { [kind === 'github' ? 'GITHUB_TOKEN' : 'GITLAB_TOKEN']: 'wrong' });
        expect([wrong.code, wrong.stderr.includes('The token is not valid')], wrong.stderr).to.deep.equal([2, true]);
        const without = await publish([], { [kind === 'github' ? 'GITHUB_TOKEN' : 'GITLAB_TOKEN']: undefined });
        expect([without.code, / is not set/.test(without.stderr)]).to.deep.equal([2, true]);
      });

      it('refuses a token that cannot be sent, and does not print it: exit code 2', async () => {
        for (const token of [`${TOKEN}\n`, `${TOKEN}\nsecond`, `"${TOKEN} "`, `${TOKEN}é`]) {
          const ran = await publish([], { [kind === 'github' ? 'GITHUB_TOKEN' : 'GITLAB_TOKEN']: token });
          expect([ran.code, ran.slept, ran.stderr.includes('_TOKEN is (hidden); it must be')], ran.stderr).to.deep.equal([2, [], true]);
        }
        expect(forge.requests).to.deep.equal([]);
      });

      it('does not follow a redirect, which would carry the token elsewhere', async () => {
        forge.failures.push({ status: 301, headers: { Location: 'http://127.0.0.1:1/' }, at: 'POST' });
        expect((await publish()).code).to.equal(2);
      });

      it('says that the job has no pull request: exit code 0', async () => {
        const none = join(folder, 'push.json');
        await writeFile(none, JSON.stringify({ ref: 'refs/heads/main', head_commit: {} }));
        const ran = await publish([], { GITHUB_EVENT_PATH: none, CI_MERGE_REQUEST_IID: undefined, GITHUB_TOKEN: undefined });
        expect(ran.code).to.equal(0);
        expect(ran.stderr).to.match(/does not belong to a (pull|merge) request/);
        expect(forge.requests).to.deep.equal([]);
        expect((await publish(['--pull-request', '12'], { GITHUB_EVENT_PATH: none, CI_MERGE_REQUEST_IID: undefined })).code).to.equal(0);
        expect(forge.comments).to.have.length(1);
      });
    });

  it('waits until the limit of GitHub is reset, which it reports with 403', async () => {
    const forge = await startForge('github');
    try {
      const reset = String(Math.ceil(Date.now() / 1000) + 3600);
      forge.failures.push({ status: 403, headers: { 'X-RateLimit-Remaining': '0', 'X-RateLimit-Reset': reset }, at: 'POST' });
      const environment = {
        GITHUB_TOKEN: TOKEN,
        GITHUB_REPOSITORY: 'acme/shop',
        GITHUB_API_URL: forge.url,
        GITHUB_REF: 'refs/pull/12/merge',
      };
      const ran = await curbcut(['comment', file, '--github'], { environment });
      expect(ran.code).to.equal(2);
      expect(ran.stderr).to.match(/The rate limit of GitHub is reached.*\n.*longer than --max-wait 300/);
    } finally {
      await forge.close();
    }
  });

  it('comments on the pull request of a comment, and in the project of the merge request', async () => {
    const [github, gitlab] = [await startForge('github'), await startForge('gitlab')];
    try {
      const issue = join(folder, 'issue.json');
      await writeFile(issue, JSON.stringify({ action: 'created', issue: { number: 12, pull_request: { url: 'x' } }, comment: {} }));
      const onGithub = { GITHUB_TOKEN: TOKEN, GITHUB_REPOSITORY: 'acme/shop', GITHUB_API_URL: github.url, GITHUB_EVENT_PATH: issue };
      expect((await curbcut(['comment', file, '--github'], { environment: onGithub })).code).to.equal(0);
      expect(github.comments).to.have.length(1);
      const fork = { CI_PROJECT_ID: '99', CI_MERGE_REQUEST_PROJECT_ID: '7', CI_MERGE_REQUEST_IID: '12' };
      const onGitlab = { GITLAB_TOKEN: TOKEN, CI_API_V4_URL: `${gitlab.url}/api/v4`, ...fork, CURBCUT_API_KEY: KEY };
      expect((await curbcut(['comment', file, '--gitlab'], { environment: onGitlab })).code).to.equal(0);
      expect(gitlab.comments).to.have.length(1);
    } finally {
      await github.close();
      await gitlab.close();
    }
  });

  it('ends at once if the certificate of the system is of an unknown authority', async () => {
    const forge = await startForge('github');
    const front = await startTlsFront(Number(new URL(forge.url).port), createAuthority('unknown').issue());
    try {
      const url = `https://127.0.0.1:${front.port}`;
      const environment = { GITHUB_TOKEN: TOKEN, GITHUB_REPOSITORY: 'acme/shop', GITHUB_API_URL: url, GITHUB_EVENT_PATH: event };
      const ran = await curbcut(['comment', file, '--github'], { environment });
      expect([ran.code, ran.slept]).to.deep.equal([2, []]);
      expect(ran.stderr).to.match(/GitHub cannot be reached \(.*certificate.*\)\.\nSet NODE_EXTRA_CA_CERTS/);
    } finally {
      await front.close();
      await forge.close();
    }
  });

  it('refuses variables that are not those of the system: exit code 2', async () => {
    const github = { GITHUB_TOKEN: TOKEN, GITHUB_REPOSITORY: 'acme/shop', GITHUB_REF: 'refs/pull/12/merge' };
    const gitlab = { GITLAB_TOKEN: TOKEN, CI_API_V4_URL: 'https://gitlab.example/api/v4', CI_PROJECT_ID: '7', CI_MERGE_REQUEST_IID: '12' };
    for (const [system, environment, said] of [
      ['github', { ...github, GITHUB_REPOSITORY: 'a/../b' }, 'GITHUB_REPOSITORY is "a/../b"'],
      ['github', { ...github, GITHUB_API_URL: 'file:///x' }, 'GITHUB_API_URL is not the address'],
      ['github', { ...github, GITHUB_EVENT_PATH: join(folder, 'none') }, 'GITHUB_EVENT_PATH'],
      ['gitlab', { ...gitlab, CI_API_V4_URL: undefined }, 'CI_API_V4_URL is not set'],
      ['gitlab', { ...gitlab, CI_MERGE_REQUEST_IID: '../1' }, 'CI_MERGE_REQUEST_IID'],
    ] as const) {
      const ran = await curbcut(['comment', file, `--${system}`], { environment });
      expect([ran.code, ran.stderr.includes(said)], ran.stderr).to.deep.equal([2, true]);
    }
  });
});
