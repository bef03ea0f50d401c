/** Bundles programs with esbuild, each to one file that has the packages it imports. */
import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { build, type BuildOptions, type Plugin } from 'esbuild';

export const ROOT = join(import.meta.dirname, '..', '..');
/** The oldest Node.js that runs the bundles. A test runs them with it. */
export const NODE_NEEDED = '22.20';
/** The syntax in which an old Node.js can read the bundle to its check of the version. */
const OLDEST_SYNTAX = 'node14.18';

/** A bundled program. */
export interface Bundle {
  code: Uint8Array;
  /** The names of the packages in it. */
  packages: Set<string>;
}

/** Bundles `curbcut`. */
export const bundleProgram = (): Promise<Bundle> =>
  bundle({
    entryPoints: ['cli/packed.cjs'],
    format: 'cjs',
    target: OLDEST_SYNTAX,
    define: { NODE_NEEDED: JSON.stringify(NODE_NEEDED) },
    banner: { js: '#!/usr/bin/env node' },
    footer: { js: 'if (require.main === module) module.exports.run();' },
  });

/** The file beside the program that only `curbcut mcp` loads, because the program must start fast. */
export const SDK_FILE = 'curbcut-mcp.cjs';

/** Bundles it. */
export const bundleSdk = (): Promise<Bundle> => bundle({ entryPoints: ['cli/mcp/sdk.ts'], format: 'cjs', target: `node${NODE_NEEDED}` });

/** Bundles the scanner. @param external packages that stay beside it */
export const bundleScanner = (external: string[]): Promise<Bundle> =>
  bundle({
    entryPoints: ['scanner-image/main.ts'],
    format: 'esm',
    target: `node${NODE_NEEDED}`,
    external,
    // Bundled CommonJS packages use `require` and `__dirname`; our modules find files of packages with `require.resolve`.
    banner: {
      js: "import { createRequire as createRequireOfBundle } from 'node:module'; const require = createRequireOfBundle(import.meta.url), __dirname = import.meta.dirname;",
    },
  });

async function bundle(options: BuildOptions): Promise<Bundle> {
  const { outputFiles, metafile } = await build({
    ...options,
    absWorkingDir: ROOT,
    bundle: true,
    write: false,
    metafile: true,
    platform: 'node',
    // The file of the checkout is not in the build of images/cli, and must change nothing.
    tsconfigRaw: { compilerOptions: { strict: true, target: 'ES2024', verbatimModuleSyntax: true } },
    // Names stay, so that the place in an internal error says something.
    minifySyntax: true,
    minifyWhitespace: true,
    legalComments: 'none',
    charset: 'utf8',
    logLevel: 'warning',
    plugins: [ownFiles],
  });
  const inputs = Object.values(metafile!.outputs).flatMap((output) => Object.entries(output.inputs));
  const packages = inputs.flatMap(([file, { bytesInOutput }]) => {
    const [, name] = /.*node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(file) ?? [];
    return name === undefined || bytesInOutput === 0 ? [] : [name];
  });
  return { code: outputFiles![0]!.contents, packages: new Set(packages) };
}

/**
 * Our modules load JSON with a `require` that they make themselves, and texts from their own folder, such as a style sheet. esbuild
 * follows neither.
 */
const ownFiles: Plugin = {
  name: 'own-files',
  setup({ onLoad, onResolve }) {
    onResolve({ filter: /\/sdk\.ts$/ }, ({ kind }) => (kind === 'dynamic-import' ? { path: `./${SDK_FILE}`, external: true } : undefined));
    onLoad({ filter: /\.ts$/ }, async ({ path }) => {
      const text = await readFile(path, 'utf8');
      const contents = text
        .replace('const require = createRequire(import.meta.url);', '')
        .replaceAll(
          /readFileSync\(join\(import\.meta\.dirname, '([^']+)'\), '(utf8|base64)'\)/g,
          (_call, file: string, encoding: BufferEncoding) => JSON.stringify(readFileSync(join(dirname(path), file), encoding)),
        );
      return { contents, loader: 'ts' };
    });
  },
};
