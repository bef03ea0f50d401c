import { execFileSync } from 'node:child_process';
import { expect } from 'chai';
import fc from 'fast-check';
import { curlOf } from './curl.ts';
import { operationsOf, type OpenApi } from './document.ts';

const info = { title: 'Test', version: '1' };
type Paths = NonNullable<OpenApi['paths']>;

const commands = (paths: Paths): string[] => {
  const document: OpenApi = {
    info,
    paths,
    servers: [{ url: 'https://a.example' }],
    components: {
      securitySchemes: { key: { type: 'apiKey', in: 'header', name: 'X-API-Key' }, session: { type: 'apiKey', in: 'cookie', name: 'sid' } },
    },
  };
  return operationsOf(document).map((operation) => curlOf(operation, document));
};

/** The arguments that a shell gives to curl. */
const argumentsOf = (command: string): string[] =>
  execFileSync('sh', ['-c', `curl() { for one; do printf '%s\\0' "$one"; done; }\n${command}`], {
    env: { CURBCUT_API_KEY: 'the key', CURBCUT_SESSION: 'the session', SCAN_ID: 'id-1', PAGE: '2' },
    encoding: 'utf8',
  })
    .split('\0')
    .slice(0, -1);

const json = (example: unknown) => ({ requestBody: { content: { 'application/json': { example } } } });
const stream = { responses: { 200: { description: '', content: { 'text/event-stream': {} } } } };

describe('the command of an operation', () => {
  for (const [what, path, method, operation, expected] of [
    ['reads an address', '/a', 'get', {}, ['https://a.example/a']],
    ['has the key', '/a', 'get', { security: [{ key: [] }] }, ['https://a.example/a', '-H', 'X-API-Key: the key']],
    ['has the cookie', '/a', 'get', { security: [{ session: [] }] }, ['https://a.example/a', '-b', 'sid=the session']],
    ['names another method', '/a', 'delete', {}, ['-X', 'DELETE', 'https://a.example/a']],
    ['sends POST without a body', '/a', 'post', {}, ['-X', 'POST', 'https://a.example/a']],
    ['does not wait for the end of a stream', '/a', 'get', stream, ['-N', 'https://a.example/a']],
    ['takes parameters of the path from variables', '/a/{scan_id}', 'get', { parameters: [{ name: 'scan_id', in: 'path' }] }, ['https://a.example/a/id-1']], // prettier-ignore
    ['prefers the examples of parameters', '/a/{scan_id}', 'get', { parameters: [{ name: 'scan_id', in: 'path', example: 'x/y' }] }, ['https://a.example/a/x%2Fy']], // prettier-ignore
    ['has only required parameters', '/a', 'get', { parameters: [{ name: 'page', in: 'query', required: true }, { name: 'limit', in: 'query' }, { name: 'x-page', in: 'header', required: true, example: 3 }] }, ['https://a.example/a?page=2', '-H', 'x-page: 3']], // prettier-ignore
  ] as const)
    it(what, () => expect(argumentsOf(commands({ [path]: { [method]: operation } })[0]!)).to.deep.equal(expected));

  it('sends any example unchanged', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.string()), (example) => {
        const [address, type, value, data, text] = argumentsOf(commands({ '/a': { post: json(example) } })[0]!);
        expect([address, type, value, data]).to.deep.equal(['https://a.example/a', '-H', 'Content-Type: application/json', '-d']);
        expect(JSON.parse(text!)).to.deep.equal(example);
      }),
      { numRuns: 25 },
    );
  });
});
