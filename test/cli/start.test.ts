/** The programs of bin/ end with 2 and one sentence if there is no result, also before they import anything. */
import { execFile } from 'node:child_process';
import { chmodSync, cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';

const ROOT = join(import.meta.dirname, '..', '..');

describe('a program of bin/', () => {
  let folder: string;
  before(() => (folder = mkdtempSync(join(tmpdir(), 'curbcut-start-'))));
  after(() => rmSync(folder, { recursive: true }));

  const execute = (command: string, args: readonly string[], environment: Record<string, string> = {}) =>
    new Promise<{ code: number; out: string; err: string }>((resolve) => {
      const env = { PATH: process.env['PATH'], ...environment };
      const child = execFile(command, args, { env }, (error, out, err) => {
        const signaled = error?.signal ? 128 + (error.signal === 'SIGABRT' ? 6 : 0) : null;
        resolve({ code: signaled ?? (error === null ? 0 : Number(error.code)), out, err });
      });
      child.stdin!.end();
    });

  /** Runs a module as `curbcut`. */
  function start(code: string, ...nodeOptions: string[]) {
    const file = join(folder, `${String(Math.random()).slice(2)}.mjs`);
    writeFileSync(file, code);
    return execute(process.execPath, [...nodeOptions, join(ROOT, 'cli', 'start.cjs'), 'curbcut', file, 'one', 'two']);
  }
  const expectSentence = ({ code, out, err }: Awaited<ReturnType<typeof start>>, sentence: RegExp): void => {
    expect([code, out], err).to.deep.equal([2, '']);
    expect(err).to.match(sentence).and.match(/^curbcut: [^\n]+\n$/); // prettier-ignore
  };

  it('runs its module with its arguments, and ends with its exit code', async () => {
    for (const code of [1, 2])
      expect(await start(`console.log(process.argv.slice(2).join(' ')); process.exit(${code})`)).to.deep.equal({
        code,
        out: 'one two\n',
        err: '',
      });
    expect((await start('process.exitCode = 1')).code).to.equal(1);
  });

  const failures: Record<string, [code: string, sentence: RegExp]> = {
    'is thrown while it is imported': ["throw new Error('broken')", /internal error, so there is no result: broken \(.*\.mjs:1:7\)$/m],
    'is thrown later': ["setTimeout(() => { throw new TypeError('late\\nsecond line') })", /no result: late \(/],
    'is no Error': ["throw 'text'", /no result: text$/m],
    'is that nothing is left to wait for': ['await new Promise(() => {})', /the program ended too early/],
    'is that it sets no exit code': ['', /the program ended too early/],
    'is a full disk': [
      "process.stdout.emit('error', Object.assign(new Error('write ENOSPC'), { code: 'ENOSPC' }))",
      /cannot be written: write ENOSPC/,
    ],
  };
  for (const [what, [code, sentence]] of Object.entries(failures))
    it(`ends with 2 and one sentence if the error ${what}`, async () => expectSentence(await start(code), sentence));

  it('is not the verdict of a site if the memory is exhausted', async () => {
    const { code } = await start('const all = []; for (;;) all.push(new Array(100000).fill({}))', '--max-old-space-size=20');
    expect(code).to.equal(134);
  });

  it('keeps its exit code if the reader of its output wants no more', async () => {
    for (const code of [0, 1]) {
      const file = join(folder, `lines${code}.mjs`);
      writeFileSync(
        file,
        `for (let n = 0; n < 50000; n += 1) process.stdout.write('a line\\n'); setTimeout(() => process.exit(${code}), 50);`,
      );
      const line = `'${process.execPath}' '${join(ROOT, 'cli', 'start.cjs')}' curbcut '${file}' | head -n 1; exit "\${PIPESTATUS[0]}"`;
      expect(await execute('bash', ['--norc', '-c', line])).to.deep.equal({ code, out: 'a line\n', err: '' });
    }
  });

  describe('of a machine', () => {
    /** A copy of the project that has no Node.js of its own, and a folder with programs. */
    function machine(name: string) {
      const [root, path] = [join(folder, name), join(folder, `${name}-bin`)];
      for (const part of ['bin', 'package.json', 'cli/start.cjs', 'tools/start.sh', 'tools/node.sh'])
        cpSync(join(ROOT, part), join(root, part), { recursive: true });
      mkdirSync(path);
      for (const tool of ['bash', 'dirname', 'readlink', 'env']) symlinkSync(`/usr/bin/${tool}`, join(path, tool));
      return { root, path };
    }
    const PROGRAMS = { curbcut: 'curbcut', 'curbcut-admin': 'curbcut-admin' };

    it('with an old Node.js says so', async () => {
      const { root, path } = machine('old');
      writeFileSync(
        join(path, 'old.cjs'),
        "Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.19.0' } });",
      );
      const node = join(path, 'node');
      writeFileSync(
        node,
        `#!/usr/bin/env bash\n[ "$1" = --version ] && echo v20.19.0 && exit\nexec '${process.execPath}' -r '${path}/old.cjs' "$@"\n`,
      );
      chmodSync(node, 0o755);
      for (const [file, program] of Object.entries(PROGRAMS)) {
        const ran = await execute(join(root, 'bin', file), ['scan', 'https://x.example'], { PATH: path });
        expect(ran).to.deep.equal({
          code: 2,
          out: '',
          err: `${program}: Node.js 24 or later is required, and ${process.execPath} is version 20.19.0.\n`,
        });
      }
    });

    it('without Node.js says so', async () => {
      const { root, path } = machine('none');
      const ran = await execute(join(root, 'bin', 'curbcut'), ['--version'], { PATH: path });
      expect(ran).to.deep.equal({ code: 2, out: '', err: 'curbcut: Node.js 24 or later is required, and there is no node in PATH.\n' });
    });

    it('with packages missing says so', async () => {
      const { root, path } = machine('incomplete');
      symlinkSync(process.execPath, join(path, 'node'));
      const ran = await execute(join(root, 'bin', 'curbcut'), ['scan', 'https://x.example'], { PATH: path });
      expect([ran.code, ran.out]).to.deep.equal([2, '']);
      expect(ran.err).to.match(/^curbcut: internal error, so there is no result: Cannot find module [^\n]*\n$/);
    });
  });

  it('runs: each prints its help', async () => {
    for (const name of ['curbcut', 'curbcut-admin']) {
      const ran = await execute(join(ROOT, 'bin', name), ['--help'], { CURBCUT_STATE: '/nowhere' });
      expect([ran.code, ran.err], name).to.deep.equal([0, '']);
      expect(ran.out).to.include(name);
    }
  });
});
