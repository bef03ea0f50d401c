/** Which test file belongs to which suite. A suite runs in a mocha process of its own. */
import { globSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '..', '..');

/**
 * Suites that need no cluster, in the order in which they are started: the longest first. A suite's files are those
 * that one of its patterns matches and none of its exceptions.
 */
export const SUITES: Readonly<Record<string, { files: readonly string[]; except?: readonly string[] }>> = {
  scanner: {
    files: ['test/scanner/**/*.test.ts', 'scanner-image/**/*.test.ts'],
    except: ['test/scanner/determinism.test.ts'],
  },
  determinism: { files: ['test/scanner/determinism.test.ts'] },
  operator: {
    files: ['test/operator/**/*.test.ts', 'operator/**/*.test.ts'],
    except: ['operator/runtime/**', 'test/operator/cluster.test.ts'],
  },
  web: { files: ['test/web/**/*.test.ts'] },
  journey: { files: ['test/journey/**/*.test.ts'] },
  api: { files: ['test/api/**/*.test.ts', 'api/**/*.test.ts'] },
  kube: { files: ['local/**/kube/**/*.test.ts'] },
  demo: { files: ['local/**/demo-site*.test.ts', 'local/**/demo-site/**/*.test.ts'] },
  runtime: { files: ['test/runtime/**/*.test.ts', 'operator/runtime/**/*.test.ts'] },
  stores: { files: ['test/stores/**/*.test.ts', 'stores/**/*.test.ts'] },
  local: {
    files: ['local/**/*.test.ts'],
    except: ['local/**/kube/**', 'local/**/demo-site*.test.ts', 'local/**/demo-site/**'],
  },
  chart: { files: ['test/chart/**/*.test.ts'] },
  gitops: { files: ['test/gitops/**/*.test.ts'] },
  report: { files: ['test/report/**/*.test.ts'] },
  cli: { files: ['test/cli/**/*.test.ts', 'cli/**/*.test.ts'] },
  core: { files: ['core/**/*.test.ts', 'platform/**/*.test.ts', 'crds/**/*.test.ts'] },
  facts: { files: ['test/facts/**/*.test.ts', 'test/runner/**/*.test.ts', 'bench/**/*.test.ts', 'tools/**/*.test.ts'] },
};

/** Tests that run on a cluster only; `make test-cluster` runs them and, on the cluster, some of the suites above. */
export const CLUSTER_ONLY = ['test/cluster/**/*.test.ts', 'test/operator/cluster.test.ts'];

const EXCLUDED = ['**/node_modules/**', '.curbcut/**'];

/** Paths of the files that match, relative to the repository, sorted. */
export function filesOf(files: readonly string[], except: readonly string[] = []): string[] {
  return [...new Set(globSync([...files], { cwd: ROOT, exclude: [...except, ...EXCLUDED] }))].sort();
}

/** Every test file of the repository. */
export const allTestFiles = (): string[] => filesOf(['**/*.test.ts']);
