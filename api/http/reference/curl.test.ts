import { execFileSync } from 'node:child_process';
import { expect } from 'chai';
import fc from 'fast-check';
import { curlOf } from './curl.ts';
import type { OpenApi, Operation } from './document.ts';

const document = { servers: [{ url: 'https://a.example' }] } as unknown as OpenApi;
const command = (operation: Partial<Operation>): string =>
  curlOf({ path: '/a', method: 'GET', responses: {}, ...operation } as Operation, document);

/** The arguments that a shell gives to curl. */
const argumentsOf = (command: string): string[] =>
  execFileSync('sh', ['-c', `curl() { for one; do printf '%s\\0' "$one"; done; }\n${command}`], {
    env: { CURBCUT_API_KEY: 'the key', SCAN_ID: 'id-1' },
    encoding: 'utf8',
  })
    .split('\0')
    .slice(0, -1);

describe('the command of an operation', () => {
  for (const [what, operation, expected] of [
    ['reads an address', {}, ['https://a.example/a']],
    ['has the key', { security: [{ apiKey: [] }, { session: [] }] }, ['https://a.example/a', '-H', 'X-API-Key: the key']],
    ['names another method', { method: 'DELETE' }, ['-X', 'DELETE', 'https://a.example/a']],
    ['sends POST without a body', { method: 'POST' }, ['-X', 'POST', 'https://a.example/a']],
    ['does not wait for the end of a stream', { responses: { 200: { description: '', content: { 'text/event-stream': {} } } } }, ['-N', 'https://a.example/a']], // prettier-ignore
    ['takes parameters of the path from variables', { path: '/a/{scan_id}' }, ['https://a.example/a/id-1']],
  ] as const)
    it(what, () => expect(argumentsOf(command(operation))).to.deep.equal(expected));

  it('sends any example unchanged', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.string()), (example) => {
        const [address, type, value, data, text] = argumentsOf(
          command({ method: 'POST', requestBody: { content: { 'application/json': { example } } } }),
        );
        expect([address, type, value, data]).to.deep.equal(['https://a.example/a', '-H', 'Content-Type: application/json', '-d']);
        expect(JSON.parse(text!)).to.deep.equal(example);
      }),
      { numRuns: 25 },
    );
  });
});
