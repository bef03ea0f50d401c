/** Clients that are generated from the OpenAPI document, and the examples of examples/clients/README.md, against the whole product. */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { copyFile, mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { createClient } from '@hey-api/openapi-ts';
import { expect } from 'chai';
import { newGo } from '../support/go-modules.ts';
import type { WholeProduct } from './product.ts';
import { sharedProduct } from './shared-product.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const PYTHON = join(ROOT, '.curbcut', 'python', 'bin');
const run = promisify(execFile);

interface Printed {
  scan: Record<string, unknown>;
  newest: string;
  link: string;
  missing: string;
}

/** The only code block of examples/clients/README.md in a language. */
async function example(language: string): Promise<string> {
  const blocks = (await readFile(join(ROOT, 'examples', 'clients', 'README.md'), 'utf8')).matchAll(/```(\w+)\n(.*?)```/gs);
  const [found, ...more] = [...blocks].filter(([, name]) => name === language);
  expect(more).to.deep.equal([]);
  return found![2]!;
}

describe('a generated client', function () {
  this.timeout(180_000);
  let product: WholeProduct;
  let document: string;
  before(async () => {
    product = await sharedProduct();
    document = join(product.dir, 'openapi.json');
    await writeFile(document, await (await product.request('/openapi.json')).text());
  });

  const environment = () => ({ ...process.env, ...product.credentials(), SITE: product.demoUrl });
  const folder = async (name: string): Promise<string> => {
    const path = join(product.dir, name);
    await mkdir(path);
    return path;
  };

  function check(output: string): void {
    const { scan, newest, link, missing } = JSON.parse(output) as Printed;
    expect(scan).to.include({ status: 'done', passed: false, pages_tested: 1, pages_charged: 1, url: `${product.demoUrl}/` });
    expect(scan.violations_count).to.be.greaterThan(0);
    expect(newest).to.equal(scan.scan_id);
    expect(new URL(link).pathname).to.include(scan.scan_id as string);
    expect(missing).to.equal('scan_not_found');
  }

  it('in TypeScript compiles, submits a scan, and tells its verdict from an error', async () => {
    const path = await folder('typescript');
    const compilerOptions = { module: 'nodenext', target: 'es2024', strict: true, outDir: 'dist', rootDir: '.', types: ['node'] };
    await writeFile(join(path, 'package.json'), '{"type":"module"}');
    await writeFile(join(path, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['**/*.ts'] }));
    await symlink(join(ROOT, 'node_modules'), join(path, 'node_modules'));
    const output = { path: join(path, 'curbcut'), tsConfigPath: join(path, 'tsconfig.json') };
    await createClient({ input: document, output, logs: { level: 'silent' } });
    await writeFile(join(path, 'example.ts'), await example('ts'));
    const compile = run(process.execPath, [join(ROOT, 'node_modules', 'typescript-native', 'bin', 'tsc'), '-p', path]);
    const { stdout } = await compile.catch((error: { stdout: string }) => error);
    expect(stdout).to.equal('');
    check((await run(process.execPath, [join(path, 'dist', 'example.js')], { env: environment() })).stdout);
  });

  it('in Python submits a scan, and tells its verdict from an error', async function () {
    if (!existsSync(PYTHON)) {
      console.log('      (skipped: tools/setup --dev installs the generator)');
      this.skip();
    }
    const path = await folder('python');
    const settings = join(path, 'settings.yaml');
    await writeFile(settings, 'post_hooks: []\n');
    const options = [
      '--path',
      document,
      '--meta',
      'none',
      '--output-path',
      join(path, 'curbcut'),
      '--config',
      settings,
      '--fail-on-warning',
    ];
    await run(join(PYTHON, 'openapi-python-client'), ['generate', ...options]);
    await writeFile(join(path, 'example.py'), await example('python'));
    check((await run(join(PYTHON, 'python'), ['example.py'], { cwd: path, env: environment() })).stdout);
  });

  // Compiling the generator takes minutes on a small machine.
  if (process.env.NIGHTLY)
    it('in Go submits a scan, and tells its verdict from an error', async function () {
      this.timeout(900_000);
      const found = await newGo();
      if (!found.ok) {
        console.log(`      (skipped: ${found.reason})`);
        return this.skip();
      }
      const path = await folder('go');
      for (const name of ['go.mod', 'go.sum']) await copyFile(join(ROOT, 'test', 'go-client', name), join(path, name));
      await mkdir(join(path, 'curbcut'));
      await writeFile(join(path, 'example.go'), await example('go'));
      const env = { ...environment(), CGO_ENABLED: '0', GOTOOLCHAIN: 'auto' };
      const go = (...args: string[]) => run(found.go, args, { cwd: path, env, maxBuffer: 16 << 20 });
      await go('tool', 'oapi-codegen', '-package', 'curbcut', '-generate', 'types,client', '-o', 'curbcut/client.go', document);
      check((await go('run', '.')).stdout);
    });
});
