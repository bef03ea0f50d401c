/**
 * Every command and every file that a page prints is right: YAML is read by the chart's schema, by an API server
 * (test/gitops/manifests.test.ts) or as a job of GitHub; JSON by the API's schemas; commands by the programs that they call. A block
 * that nothing checks fails the test.
 */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Ajv } from 'ajv';
import { expect } from 'chai';
import { parse } from 'yaml';
import { useContext } from '../api/context.ts';
import { fragmentOf, ROOT } from '../gitops/manifests.ts';
import type { Block } from '../gitops/manifests.ts';
import { allBlocks, ELSEWHERE, elsewhereOf, isShell, readFile, yamlOf } from './snippets/blocks.ts';
import { PROGRAMS } from './snippets/programs.ts';
import { problemOfBody, problemOfRequest, type Document } from './snippets/requests.ts';
import { callsOf, type Call } from './snippets/shell.ts';

const SERVICE = 'https://curbcut.example.com';
const own = allBlocks().filter((block) => elsewhereOf(block) === undefined);

/** @throws Error with what is wrong with a call */
async function checkCall({ program, args }: Call, document: Document): Promise<void> {
  const problem = program === 'curl' ? problemOfRequest(args, document, SERVICE) : await PROGRAMS[program]!(args, { program, args });
  if (problem !== null) throw new Error(`${[program, ...args].join(' ')}: ${problem}`);
}

/** Runs a program of bin/ without input. @throws if it fails */
async function endOf(command: string, args: string[]): Promise<void> {
  const running = promisify(execFile)(join(ROOT, 'bin', command), args);
  running.child.stdin!.end();
  await running;
}

describe('the snippets of README and docs', function () {
  this.timeout(300_000);
  const context = useContext();
  let document: Document;
  before(async () => {
    document = (await context.request('GET', '/openapi.json')).body as Document;
  });

  it('are many, and each has a check', () => {
    expect(own.length).to.be.greaterThan(60);
    const unknown = own.filter((block) => !isShell(block) && !['yaml', 'json'].includes(block.language));
    expect(unknown.map(({ from, language }) => `${from} ${language}`)).to.deep.equal([]);
    const unused = ELSEWHERE.filter(
      ({ page, phrase }) => !allBlocks().some(({ from, text }) => from.startsWith(`${page}:`) && text.includes(phrase)),
    );
    expect(unused, 'exceptions without a block').to.deep.equal([]);
  });

  describe('commands', () => {
    for (const block of own.filter(isShell))
      it(`of ${block.from}`, async () => {
        const calls = await callsOf(block.text, [...Object.keys(PROGRAMS), 'curl']);
        for (const call of calls) await checkCall(call, document);
      });
  });

  describe('YAML', () => {
    const validate = new Ajv({ strict: false, allErrors: true }).compile(JSON.parse(readFile('helm/values.schema.json')) as object);
    for (const block of own.filter(({ language }) => language === 'yaml'))
      it(`of ${block.from}`, async () => {
        for (const value of yamlOf(block)) await checkYaml(block, value, (values) => (validate(values) ? [] : validate.errors!));
      });
  });

  describe('JSON', () => {
    for (const block of own.filter(({ language }) => language === 'json'))
      it(`of ${block.from}`, async () => {
        const { mcpServers } = JSON.parse(block.text) as { mcpServers?: Record<string, { command: string; args: string[] }> };
        // Standard input has ended, so that the server ends.
        if (mcpServers !== undefined) return Promise.all(Object.values(mcpServers).map(({ command, args }) => endOf(command, args)));
        const schema = document.paths['/v1/ci/scans']!['post']!.requestBody!.content['application/json']!.schema;
        expect(problemOfBody(JSON.parse(block.text), schema, document.components)).to.equal(null);
      });
  });

  /** Manifests and parts of them are sent to an API server by test/gitops/manifests.test.ts. */
  async function checkYaml(block: Block, value: Record<string, unknown>, problemsOf: (values: unknown) => object[]): Promise<void> {
    if ('apiVersion' in value || fragmentOf(value) !== null) return;
    if ('steps' in value) return checkJob(value as { steps: Step[] });
    expect(problemsOf(value), `${block.from} as values of the chart`).to.deep.equal([]);
  }

  interface Step {
    run?: string;
    uses?: string;
    with?: Record<string, unknown>;
  }
  async function checkJob({ steps }: { steps: Step[] }): Promise<void> {
    const { inputs } = parse(readFile('action.yml')) as { inputs: object };
    for (const { run, uses, with: given = {} } of steps) {
      if (uses?.startsWith('example/curbcut@')) expect(inputs).to.include.keys(Object.keys(given));
      if (run !== undefined) for (const call of await callsOf(run, [...Object.keys(PROGRAMS), 'curl'])) await checkCall(call, document);
    }
  }
});
