import { expect } from 'chai';
import fc from 'fast-check';
import { operationsOf, schemasOf, tagsOf, type OpenApi, type Schema } from './document.ts';
import { nested } from './fields.ts';
import { referencePage } from './page.ts';

const refer = (name: string): Schema => ({ $ref: `#/components/schemas/${name}` });
const info = { title: 'Test', version: '1' };

/** A document whose only operation answers with `used`, and whose schemas have a field for each name that they refer to. */
function documentOf(used: readonly string[], references: Readonly<Record<string, readonly string[]>>): OpenApi {
  const schemas = Object.entries(references).map(([name, names]): [string, Schema] => [
    name,
    { type: 'object', properties: Object.fromEntries([[`own-${name}`, {}], ...names.map((one, at) => [`f${at}`, refer(one)])]) },
  ]);
  return {
    info,
    paths: {
      '/a': { get: { responses: { 200: { description: 'ok', content: { 'application/json': { schema: { anyOf: used.map(refer) } } } } } } },
    },
    components: { schemas: Object.fromEntries(schemas) },
  };
}

const objects = (...parts: Parameters<typeof documentOf>): string[] => [...schemasOf(documentOf(...parts)).objects];

describe('schemas of the reference', () => {
  for (const [what, used, references, expected] of [
    ['with one reference are shown there', ['A'], { A: ['B'], B: [] }, []],
    ['with several references are objects', ['A', 'B'], { A: ['B'], B: [] }, ['B']],
    ['without a reference are objects', [], { A: [] }, ['A']],
    ['that contain themselves are objects', ['A'], { A: ['A'] }, ['A']],
    ['of a cycle that is used are objects where it closes', ['A'], { A: ['B'], B: ['A'] }, ['A']],
    ['of a cycle that nothing uses are objects once', [], { A: ['B'], B: ['A'] }, ['A']],
  ] as const)
    it(what, () => expect(objects(used, references)).to.deep.equal(expected));

  it('are each shown exactly once, whatever refers to what', () => {
    const names = ['A', 'B', 'C', 'D', 'E'];
    const some = fc.array(fc.constantFrom(...names), { maxLength: 4 });
    fc.assert(
      fc.property(some, fc.tuple(some, some, some, some, some), (used, references) => {
        const document = documentOf(used, Object.fromEntries(names.map((name, at) => [name, references[at]!])));
        const page = referencePage(document).toString();
        for (const name of names) expect(page.split(`>own-${name}<`), name).to.have.length(2);
      }),
    );
  });

  it('that do not exist, and other references, are named', () => {
    const document = documentOf(['Missing'], {});
    expect(referencePage(document).toString()).to.include('Missing');
    const schema = { properties: { a: { $ref: '#/elsewhere' } } };
    expect(nested(schema, schemasOf(document), 'response').toString()).to.include('#/elsewhere');
  });
});

describe('operations of the reference', () => {
  const paths = {
    '/a/{b}': { get: { tags: ['New'] }, delete: { operationId: 'removeB', summary: 'Remove b', tags: ['Known'] } },
    '/c': { put: {} },
  };

  it('are identified by operation ID, or by method and path', () => {
    expect(operationsOf({ info, paths }).map(({ id, method, title }) => [id, method, title])).to.deep.equal([
      ['get-a-b', 'GET', 'GET /a/{b}'],
      ['removeB', 'DELETE', 'Remove b'],
      ['put-c', 'PUT', 'PUT /c'],
    ]);
  });

  it('are grouped by tag, also by tags that the document does not describe, and without a tag', () => {
    const tags = tagsOf({ info, paths, tags: [{ name: 'Empty' }, { name: 'Known', description: 'Text' }] });
    expect(tags.map(({ name, description, operations }) => [name, description, operations.map(({ id }) => id)])).to.deep.equal([
      ['Known', 'Text', ['removeB']],
      ['New', undefined, ['get-a-b']],
      ['Other operations', undefined, ['put-c']],
    ]);
  });
});
