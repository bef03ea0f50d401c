/** Which test file belongs to which suite, and which files run in one mocha process. */
import { globSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '..', '..');

export interface Suite {
  files: readonly string[];
  except?: readonly string[];
  /** The number of mocha processes that share the files. Default: 1 */
  processes?: number;
}

/**
 * Suites that need no cluster, the longest first. A suite's files are those that one of its patterns matches and none of
 * its exceptions.
 */
export const SUITES: Readonly<Record<string, Suite>> = {
  // One process: its last test is that every error code occurred in a test.
  api: { files: ['test/api/**/*.test.ts', 'api/**/*.test.ts'] },
  scanner: {
    files: ['test/scanner/**/*.test.ts', 'scanner-image/**/*.test.ts'],
    except: ['test/scanner/determinism.test.ts'],
    processes: 6,
  },
  operator: {
    processes: 3,
    files: ['test/operator/**/*.test.ts', 'operator/**/*.test.ts'],
    except: ['operator/runtime/**', 'test/operator/cluster.test.ts'],
  },
  web: { files: ['test/web/**/*.test.ts'], processes: 2 },
  stores: { files: ['test/stores/**/*.test.ts', 'stores/**/*.test.ts'] },
  // One process: most of them share a whole product.
  journey: { files: ['test/journey/**/*.test.ts'] },
  report: { files: ['test/report/**/*.test.ts'] },
  determinism: { files: ['test/scanner/determinism.test.ts'] },
  cli: { files: ['test/cli/**/*.test.ts', 'cli/**/*.test.ts'] },
  bundle: { files: ['test/bundle/**/*.test.ts'] },
  chart: { files: ['test/chart/**/*.test.ts'] },
  local: {
    files: ['local/**/*.test.ts'],
    except: ['local/**/kube/**', 'local/**/demo-site*.test.ts'],
  },
  kube: { files: ['local/**/kube/**/*.test.ts'] },
  core: { files: ['core/**/*.test.ts', 'report/**/*.test.ts', 'platform/**/*.test.ts'] },
  gitops: { files: ['test/gitops/**/*.test.ts'] },
  demo: { files: ['local/**/demo-site*.test.ts', 'demo-site/**/*.test.ts'] },
  runtime: { files: ['test/runtime/**/*.test.ts', 'operator/runtime/**/*.test.ts'] },
  facts: { files: ['test/facts/**/*.test.ts', 'test/runner/**/*.test.ts', 'bench/**/*.test.ts', 'tools/**/*.test.ts'] },
};

/** Tests that run only with `NIGHTLY=1`: random histories, crashes at random, and ten organisations beside each other, by a ratio. */
export const NIGHT_ONLY = ['test/operator/{leftovers,ten-organisations,webhook-senders}.test.ts', 'test/stores/credits-races.test.ts'];

/** Tests that run on a cluster only; `make test-cluster` runs them and, on the cluster, some of the suites above. */
export const CLUSTER_ONLY = ['test/cluster/**/*.test.ts', 'test/operator/cluster.test.ts'];

const EXCLUDED = ['**/node_modules/**', '.curbcut/**'];

/** Paths of the files that match, relative to the repository, sorted. */
export function filesOf(files: readonly string[], except: readonly string[] = []): string[] {
  return [...new Set(globSync([...files], { cwd: ROOT, exclude: [...except, ...EXCLUDED] }))].sort();
}

/** The files of one mocha process. */
export interface Share {
  suite: string;
  files: readonly string[];
}

/**
 * The mocha processes of these suites, in the order in which they are started: the first one of a suite in its order, and the
 * processes of a suite spread over the run, so that suites that compute always run beside suites that wait. A process without
 * files is left out.
 */
export function sharesOf(suites: readonly { name: string; files: readonly string[]; processes?: number | undefined }[]): Share[] {
  return suites
    .flatMap(({ name, files, processes = 1 }, place) =>
      Array.from({ length: processes }, (_, round) => ({
        suite: name,
        files: files.filter((_file, at) => at % processes === round),
        startsAt: (round + place / suites.length) / processes,
      })),
    )
    .filter((share) => share.files.length > 0)
    .sort((one, other) => one.startsAt - other.startsAt)
    .map(({ suite, files }) => ({ suite, files }));
}

/** Every test file of the repository. */
export const allTestFiles = (): string[] => filesOf(['**/*.test.ts']);
