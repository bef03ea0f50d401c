import { expect } from 'chai';
import { SCAN_ID, complete, curbcut, startService, stream } from './service.ts';

describe('curbcut', () => {
  const wrong: [string, string[], string | RegExp][] = [
    ['no command', [], 'usage: curbcut <scan|follow|check|cancel|list|report|diff|comment|accept|mcp|open|login|logout|completion>'],
    ['an unknown command', ['scna'], "Unknown command 'scna'. Did you mean scan?"],
    ['no URL', ['scan'], "Missing required argument 'URL'"],
    ['two URLs', ['scan', 'a', 'b'], /Too many arguments for '\w+'\. Expected \d arguments? but got \d: .*b\.\n/],
    ['a list without an end', ['list', '--limit', '1001'], '--limit 1001 is not between 1 and 1000'],
    ['an unknown option', ['scan', 'u', '--min-scor', '9'], "Unknown option '--min-scor'. Did you mean --min-score?"],
    ['an option without its value', ['scan', 'u', '--min-score'], '--min-score'],
    ['an option in place of a value', ['scan', 'u', '--export', '--local'], 'It is an option, so the value is missing.'],
    ['text as a number', ['scan', 'u', '--min-score', 'high'], '--min-score high is not a number'],
    ['a fraction as a whole number', ['scan', 'u', '--max-pages', '2.5'], '--max-pages 2.5 is not a whole number'],
    ['an unknown severity', ['scan', 'u', '--fail-on', 'bad'], '--fail-on bad must be one of critical, serious, moderate, minor'],
    ['an unknown target', ['scan', 'u', '--wcag', '3.0-AA'], '--wcag 3.0-AA is not a valid target'],
    ['a key that no header can carry', ['scan', 'u', '--idempotency-key', 'build-7–a'], '--idempotency-key "build-7–a" must be'],
    ['--json and --quiet', ['scan', 'u', '--json', '--quiet'], '--json and --quiet cannot be used together'],
    ['-o and --quiet', ['follow', 'u', '-o', 'wide', '--quiet'], '-o wide and --quiet cannot be used together'],
    ['an unknown format', ['list', '-o', 'table'], '-o table must be one of json, yaml, wide'],
  ];
  for (const [name, args, said] of wrong)
    it(`rejects ${name}: exit code 2`, async () => {
      const ran = await curbcut(args, { url: 'http://127.0.0.1:9' });
      expect(ran.code).to.equal(2);
      expect(ran.stdout).to.equal('');
      expect(ran.stderr)
        .to.satisfy((text: string) => (typeof said === 'string' ? text.includes(said) : said.test(text)))
        .and.to.match(/Try: curbcut .*--help/);
    });

  it('prints the help of a command for help COMMAND, too', async () => {
    const [help, same] = await Promise.all([curbcut(['help', 'scan']), curbcut(['scan', '--help'])]);
    expect(help).to.deep.equal(same).and.to.include({ code: 0 });
  });

  it('names the variables to set if the environment is incomplete: exit code 2', async () => {
    const ran = await curbcut(['scan', 'https://x.example'], { environment: { CURBCUT_URL: 'ftp://x' } });
    expect(ran.code).to.equal(2);
    expect(ran.stderr).to.include('CURBCUT_URL is "ftp://x"').and.to.include('CURBCUT_API_KEY is not set');
  });

  it('never prints the API key', async () => {
    const ran = await curbcut(['scan', 'https://x.example'], {
      environment: { CURBCUT_URL: 'http://127.0.0.1:9', CURBCUT_API_KEY: 'svc_live_ with spaces' },
    });
    expect(ran.stderr).to.include('CURBCUT_API_KEY is (hidden)').and.not.include('svc_live_ with');
  });

  it('rejects an address with a password, and never prints it: exit code 2', async () => {
    for (const address of ['https://user:hunter2@curbcut.example', 'https://hunter2@curbcut.example/a b']) {
      const ran = await curbcut(['list'], { environment: { CURBCUT_URL: address, CURBCUT_API_KEY: 'k' } });
      expect(ran).to.deep.include({ code: 2, slept: [] });
      expect(ran.stderr).to.include('CURBCUT_URL is (hidden)').and.not.include('hunter2');
    }
  });

  it('shows examples in each help, with options that the help describes', async () => {
    const helpOf = async (...args: string[]) => (await curbcut([...args, '--help'], { environment: {} })).stdout;
    const [, listed] = /usage: \S.* <(.*)>/.exec((await curbcut([], { environment: {} })).stderr)!;
    for (const command of listed!.split('|')) {
      const help = await helpOf(command);
      expect(help).to.include('Exit codes:').and.to.include('CURBCUT_API_KEY');
      for (const line of help.split('\n')) expect(line.length, line).to.be.at.most(80);
      const [, given] = /\nExamples:\n((?: {2}.*\n)+)/.exec(help) ?? [];
      expect(given, command).to.be.a('string');
      for (const [option] of given!.matchAll(/(?<= )--?[a-z][\w-]*/gi)) {
        const described = help.replace(given!, '');
        expect(described, `${command} ${option}`).to.match(new RegExp(`(^|[ ,])${option}[ ,\n]`, 'm'));
      }
    }
    expect(await helpOf()).to.include('Examples:');
    expect((await curbcut(['follow', '-h'], { environment: {} })).stdout).to.equal(await helpOf('follow'));
  });

  it('prints its version', async () => {
    expect(await curbcut(['--version'], { environment: {} })).to.deep.include({ code: 0, stdout: 'curbcut 1.2.3\n' });
  });

  describe('follow', () => {
    it('prints the result of a completed scan at once and submits nothing', async () => {
      const service = await startService((_, response) => stream(response, [complete(7)]));
      try {
        const ran = await curbcut(['follow', SCAN_ID], { url: `${service.url}/` });
        expect(ran.code).to.equal(0);
        expect(ran.stdout).to.include('✓ passed');
        expect(service.requests.map(({ method, path }) => `${method} ${path}`)).to.deep.equal([
          `GET /v1/ci/scans/${SCAN_ID}/events`,
          `GET /v1/ci/scans/${SCAN_ID}`,
          `GET /v1/scans/${SCAN_ID}/report/json`,
        ]);
      } finally {
        await service.close();
      }
    });
  });
});
