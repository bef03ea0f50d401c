import { expect } from 'chai';
import fc from 'fast-check';
import { schemasOf, type OpenApi, type Schema } from './document.ts';
import { referencePage } from './page.ts';

const refer = (name: string): Schema => ({ $ref: `#/components/schemas/${name}` });

/** A document whose only operation answers with `used`, and whose schemas have a field for each name that they refer to. */
function documentOf(used: readonly string[], references: Readonly<Record<string, readonly string[]>>): OpenApi {
  const schemas = Object.entries(references).map(([name, names]): [string, Schema] => [
    name,
    { type: 'object', properties: Object.fromEntries([[`own-${name}`, {}], ...names.map((one, at) => [`f${at}`, refer(one)])]) },
  ]);
  const responses = { 200: { description: 'ok', content: { 'application/json': { schema: { anyOf: used.map(refer) } } } } };
  return {
    info: { title: 'Test', version: '1', description: '' },
    servers: [{ url: 'https://a.example' }],
    tags: [{ name: 'All', description: '' }],
    paths: { '/a': { get: { operationId: 'getA', summary: 'A', tags: ['All'], responses } } },
    components: { schemas: Object.fromEntries(schemas), securitySchemes: {} },
  };
}

const objects = (...parts: Parameters<typeof documentOf>): string[] => [...schemasOf(documentOf(...parts)).objects];

describe('schemas of the reference', () => {
  for (const [what, used, references, expected] of [
    ['with one reference are shown there', ['A'], { A: ['B'], B: [] }, []],
    ['with several references are objects', ['A', 'B'], { A: ['B'], B: [] }, ['B']],
    ['without a reference are objects', [], { A: [] }, ['A']],
  ] as const)
    it(what, () => expect(objects(used, references)).to.deep.equal(expected));

  it('are each shown exactly once, whatever refers to what', () => {
    const names = ['A', 'B', 'C', 'D', 'E'];
    // None contains itself: no body of ours is a tree.
    const later = names.map((_, at) => fc.subarray(names.slice(at + 1)));
    fc.assert(
      fc.property(fc.subarray(names), fc.tuple(...later), (used, references) => {
        const document = documentOf(used, Object.fromEntries(names.map((name, at) => [name, references[at]!])));
        const page = referencePage(document).toString();
        for (const name of names) expect(page.split(`>own-${name}<`), name).to.have.length(2);
      }),
    );
  });
});
