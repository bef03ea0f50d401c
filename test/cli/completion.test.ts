/** Completion with Tab: the words, and the scripts in real shells. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { expect } from 'chai';
import { SCRIPTS, SHELLS } from '../../cli/completion/scripts.ts';
import { curbcut, KEY, result, SCAN_ID, startService } from './service.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const NONE = { environment: { XDG_CONFIG_HOME: '/none' } };

/** The words that fit, without their descriptions, and the directive. */
async function complete(words: readonly string[], options: Parameters<typeof curbcut>[1] = NONE): Promise<string[]> {
  const { code, stdout, stderr } = await curbcut(['__complete', ...words], options);
  expect([code, stderr]).to.deep.equal([0, '']);
  return stdout
    .trimEnd()
    .split('\n')
    .map((line) => line.split('\t')[0]!);
}

describe('curbcut: completion', () => {
  const cases: [words: string[], expected: string[]][] = [
    [['re'], ['report', ':4']],
    [
      ['scan', '--fail-on', 's'],
      ['serious', ':4'],
    ],
    [
      ['scan', 'https://x.example/', '--fail-on=s'],
      ['--fail-on=serious', ':4'],
    ],
    [
      ['scan', '--wcag', '2.2-A'],
      ['2.2-A', '2.2-AA', '2.2-AAA', ':4'],
    ],
    [
      ['list', '--status', 'd'],
      ['done', ':4'],
    ],
    [['scan', '--pdf', ''], [':0']],
    [
      ['accept', 'report.json', '--r'],
      ['--rule', '--reason', ':4'],
    ],
    [['scan', '--min-score', ''], [':4']],
    [['scan', ''], [':4']],
    [['comment', ''], [':0']],
    [
      ['completion', ''],
      ['bash', 'zsh', 'fish', ':4'],
    ],
    [['constructor', ''], [':4']],
  ];
  it('describes every command, and options with their whole meaning', async () => {
    const described = async (...words: string[]) => (await curbcut(['__complete', ...words], NONE)).stdout;
    const commands = (await described('')).trimEnd().split('\n').slice(0, -1);
    expect(commands.filter((line) => !/^[a-z]+\t\S/.test(line))).to.deep.equal([]);
    expect(await described('open', '--max')).to.include('(default 300); it does not limit the scan itself\n');
    expect(await described('accept', 'report.json', '--rule')).to.include(
      '--rule\tthe elements of this rule with exactly the selector of --selector\n',
    );
  });

  for (const [words, expected] of cases)
    it(`completes ${JSON.stringify(words.join(' '))} to ${expected.join(' ')}`, async () =>
      expect(await complete(words)).to.deep.equal(expected));

  it('offers only options that the commands have', async () => {
    const commands = (await complete([''], NONE)).slice(0, -1);
    expect(commands).to.include.members(['scan', 'follow', 'cancel', 'list', 'report', 'diff']);
    for (const command of commands) {
      const offered = (await complete([command, '--'], NONE)).slice(0, -1);
      if (!['logout', 'completion'].includes(command)) expect(offered, command).not.to.deep.equal([]);
      const help = (await curbcut([command, '--help'], NONE)).stdout;
      for (const option of offered) {
        const word = help.includes(`${option} <`) ? `${option}=x` : option;
        const { stderr } = await curbcut([command, word, '--help'], NONE);
        expect(stderr, `${command} ${word}`).not.to.match(/unknown option|argument missing/i);
      }
    }
  });

  it('offers latest and the newest scans of the service', async () => {
    const page = { data: [{ ...result(), submitted_at: '2026-11-01T10:00:00Z' }], next_cursor: null };
    const service = await startService(() => ({ status: 200, body: page }));
    try {
      const environment = { CURBCUT_URL: service.url, CURBCUT_API_KEY: KEY };
      expect(await complete(['follow', ''], { environment })).to.deep.equal(['latest', SCAN_ID, ':4']);
      expect(await complete(['diff', SCAN_ID, 'l'], { environment })).to.deep.equal(['latest', ':4']);
      expect(await complete(['diff', SCAN_ID, 'latest', ''], { environment })).to.deep.equal([':4']);
      expect(await complete(['accept', SCAN_ID.slice(0, 3)], { environment })).to.deep.equal([SCAN_ID, ':0']);
    } finally {
      await service.close();
    }
    expect(await complete(['follow', ''])).to.deep.equal([':4']);
  });

  it('ends with 2 for another shell', async () => {
    const { code, stderr } = await curbcut(['completion', 'tcsh'], NONE);
    expect([code, stderr.split('\n')[0]]).to.deep.equal([2, 'curbcut: There is no completion for tcsh. Choose one of bash, zsh, fish.']);
  });
});

describe('the completion script of', () => {
  let folder: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'curbcut-completion-'));
    for (const shell of SHELLS) await writeFile(join(folder, `curbcut.${shell}`), SCRIPTS[shell]);
    await writeFile(join(folder, 'bashrc'), `PS1='READY'; source '${folder}/curbcut.bash'`);
    await writeFile(join(folder, '.zshrc'), `PS1=READY; autoload -Uz compinit; compinit -D; source '${folder}/curbcut.zsh'`);
    await writeFile(join(folder, 'report.pdf'), '');
  });
  after(() => rm(folder, { recursive: true }));
  const environment = () => ({
    PATH: [join(ROOT, 'bin'), process.env['PATH']].join(delimiter),
    HOME: folder,
    ZDOTDIR: folder,
    TERM: 'dumb',
    XDG_CONFIG_HOME: folder,
    NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
  });

  /** What is typed before Tab, and what the shell makes of it. */
  const TYPED: [typed: string, shown: string][] = [
    ['curbcut scan --fail-on=cr', 'curbcut scan --fail-on=critical '],
    ['curbcut report x --pdf rep', 'curbcut report x --pdf report.pdf '],
  ];
  const SHELL: Readonly<Record<string, () => string>> = {
    bash: () => `bash --noprofile --rcfile '${folder}/bashrc' -i`,
    zsh: () => 'zsh -i',
  };

  /** Reads the terminal until it shows a text. @throws after 20 s */
  async function shows(screen: { text: string }, text: string): Promise<void> {
    for (const until = Date.now() + 20_000; !screen.text.includes(text);) {
      if (Date.now() > until) throw new Error(`the terminal does not show ${JSON.stringify(text)}: ${JSON.stringify(screen.text)}`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  for (const shell of Object.keys(SHELL))
    it(`${shell} completes what is typed on a terminal`, async () => {
      const terminal = spawn('script', ['-qec', SHELL[shell]!(), '/dev/null'], { env: environment(), cwd: folder });
      const screen = { text: '' };
      terminal.stdout.setEncoding('utf8').on('data', (text: string) => (screen.text += text));
      try {
        for (const [typed, shown] of TYPED) {
          await shows(screen, 'READY');
          screen.text = '';
          terminal.stdin.write(`${typed}\t`);
          await shows(screen, shown);
          // Ctrl-U removes the line, and Enter shows the prompt again.
          screen.text = '';
          terminal.stdin.write('\u0015\n');
        }
      } finally {
        terminal.stdin.end('exit\n');
        terminal.kill();
      }
    });

  it('fish completes a line', async () => {
    for (const [typed, shown] of TYPED) {
      const fish = spawn('fish', ['-c', `source '${folder}/curbcut.fish'; complete -C '${typed}'`], { env: environment(), cwd: folder });
      let found = '';
      fish.stdout.setEncoding('utf8').on('data', (text: string) => (found += text));
      await once(fish, 'close');
      expect(found.split('\n').map((line) => line.split('\t')[0])).to.deep.equal([shown.trimEnd().split(' ').at(-1), '']);
    }
  });
});
