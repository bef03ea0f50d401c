/** docs/development.md names existing files, and all settings and error codes are documented. */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { Environment as ApiEnvironment } from '../../api/config.ts';
import { ERROR_CODES, VALIDATION_TYPES } from '../../api/http/errors.ts';
import { Environment as OperatorEnvironment } from '../../operator/config.ts';

const root = join(import.meta.dirname, '..', '..');
const read = (path: string): string => readFileSync(join(root, path), 'utf8');

describe('docs/development.md', () => {
  const TOP = /^(core|report|demo-site|platform|stores|api|operator|scanner-image|cli|local|crds|helm|images|test|tools|docs|bench)\//;

  it('names files and folders that exist', () => {
    const named = [...read('docs/development.md').matchAll(/`([^`\s]+)`/g)].map(([, path]) => path!).filter((path) => TOP.test(path));
    expect(named.length).to.be.greaterThan(20);
    // The benchmarks create their results; <package> is a placeholder.
    expect(
      named.filter((path) => path !== 'bench/results/' && !path.includes('<') && globSync(path, { cwd: root }).length === 0),
    ).to.deep.equal([]);
  });
});

describe('settings', () => {
  it('are in docs/configuration.md', () => {
    const page = read('docs/configuration.md');
    const names = [ApiEnvironment, OperatorEnvironment].flatMap(({ properties }) => Object.keys(properties));
    expect(names.filter((name) => !page.includes(`| \`${name}\` |`))).to.deep.equal([]);
  });
});

describe('error codes', () => {
  it('are in docs/errors.md', () => {
    const page = read('docs/errors.md');
    expect([...ERROR_CODES, ...VALIDATION_TYPES].filter((code) => !page.includes(`\`${code}\``))).to.deep.equal([]);
  });
});
