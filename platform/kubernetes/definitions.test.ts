import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect } from 'chai';
import { createDefinitionCheck, missingFields, type Schema } from './definitions.ts';
import { KubernetesError } from './kubernetes.ts';

const text: Schema = {};
const object = (properties: Record<string, Schema>): Schema => ({ properties });

describe('missingFields', () => {
  const table: [string, Schema, Schema, string[]][] = [
    ['equal schemas', object({ spec: object({ url: text }) }), object({ spec: object({ url: text }) }), []],
    ['a newer schema', object({ spec: object({ url: text }) }), object({ spec: object({ url: text, more: text }), status: text }), []],
    ['a missing field', object({ spec: object({ url: text, advice: text }) }), object({ spec: object({ url: text }) }), ['spec.advice']],
    ['a missing object', object({ status: object({ a: text }) }), object({}), ['status']],
    [
      'a missing field of list items',
      object({ steps: { items: object({ click: text, wait: text }) } }),
      object({ steps: { items: object({ click: text }) } }),
      ['steps[].wait'],
    ],
    [
      'a missing field of values by name',
      object({ weights: { additionalProperties: object({ a: text }) } }),
      object({ weights: { additionalProperties: object({}) } }),
      ['weights[].a'],
    ],
    ['a missing value', object({ level: { enum: ['A', 'AA', 'AAA'] } }), object({ level: { enum: ['A', 'AA'] } }), ['level=AAA']],
    ['a list of values that was opened', object({ level: { enum: ['A'] } }), object({ level: {} }), []],
    [
      'fields that the server keeps without knowing them',
      object({ affinity: object({ a: text }) }),
      object({ affinity: { 'x-kubernetes-preserve-unknown-fields': true } }),
      [],
    ],
    ["what the server adds to each kind's schema", object({ kind: text, metadata: text, apiVersion: text }), object({}), []],
  ];
  for (const [what, expected, actual, missing] of table)
    it(`of ${what}: ${missing.join(', ') || 'none'}`, () => expect(missingFields(expected, actual)).to.deep.equal(missing));
});

describe('the check of definitions', () => {
  let folder: string;
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'definitions-'));
    writeFileSync(
      join(folder, 'widgets.yaml'),
      `spec:
  group: example.dev
  names: { kind: Widget }
  versions:
    - name: v1
      schema: { openAPIV3Schema: { properties: { spec: { properties: { a: {}, b: {}, c: {}, d: {}, e: {} } } } } }
`,
    );
  });
  after(() => rmSync(folder, { recursive: true }));

  /** Checks against a cluster. @returns the error's message, and the number of requests of two checks */
  async function check(answer: unknown): Promise<{ message: string | null; requests: number }> {
    let requests = 0;
    const request = async <T>(_method: string, path: string): Promise<T> => {
      requests += 1;
      expect(path).to.equal('/openapi/v3/apis/example.dev/v1');
      if (answer instanceof Error) throw answer;
      return answer as T;
    };
    const run = createDefinitionCheck({ request }, pathToFileURL(`${folder}/`));
    const messageOf = (): Promise<string | null> => run().then(() => null, (error: Error) => error.message); // prettier-ignore
    const message = await messageOf();
    await messageOf();
    return { message, requests };
  }
  const served = (kind: string, fields: string[]) => ({
    components: {
      schemas: {
        x: {
          'x-kubernetes-group-version-kind': [{ kind }],
          properties: { spec: { properties: Object.fromEntries(fields.map((name) => [name, {}])) } },
        },
      },
    },
  });

  it('passes once for current definitions, and then asks no more', async () => {
    expect(await check(served('Widget', ['a', 'b', 'c', 'd', 'e', 'f']))).to.deep.equal({ message: null, requests: 1 });
  });

  it('names the kind, the missing fields and the command, and asks again', async () => {
    const { message, requests } = await check(served('Widget', ['a']));
    expect(message).to.match(/older than this version of Curbcut: Widget has no spec\.b, spec\.c, spec\.d \(4 in all\)\./);
    expect(message).to.contain('kubectl apply --server-side --force-conflicts -f crds/');
    expect(requests).to.equal(2);
  });

  it('names a kind that the cluster does not have', async () => {
    expect((await check(new KubernetesError(404, 'NotFound', 'not found'))).message).to.contain('the cluster has no Widget');
    expect((await check(served('Gadget', []))).message).to.contain('the cluster has no Widget');
  });

  it('passes where the description of the API may not be read, and fails while the API is unavailable', async () => {
    expect((await check(new KubernetesError(403, 'Forbidden', 'no'))).message).to.equal(null);
    expect((await check(new KubernetesError(503, 'Unavailable', 'later'))).message).to.equal('later');
  });
});
