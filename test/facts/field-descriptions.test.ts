/** `kubectl explain` shows the descriptions of fields, and `kubectl describe crd` those of columns. */
import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { expect } from 'chai';
import { parse } from 'yaml';
import { CRDS } from '../../local/stack.ts';

interface Schema {
  description?: string;
  properties?: Record<string, Schema>;
  items?: Schema;
}

interface Definition {
  spec: { versions: { schema: { openAPIV3Schema: Schema }; additionalPrinterColumns: { name: string; description?: string }[] }[] };
}

/** The descriptions of a schema's fields, by path. */
function fieldsOf(schema: Schema, path: string): [path: string, description: string | undefined][] {
  const below = Object.entries({ ...schema.properties, ...schema.items?.properties });
  return below.flatMap(([name, field]) => [
    [`${path}.${name}`, field.description] as [string, string | undefined],
    ...fieldsOf(field, `${path}.${name}`),
  ]);
}

describe('descriptions of fields', () => {
  for (const file of CRDS)
    it(`are sentences in ${basename(file)}`, () => {
      const version = (parse(readFileSync(file, 'utf8')) as Definition).spec.versions[0]!;
      const schema = version.schema.openAPIV3Schema;
      const columns = version.additionalPrinterColumns.map(({ name, description }) => [`column ${name}`, description] as const);
      // The API server describes the metadata itself, and every kind has the column Age.
      const all = [...fieldsOf(schema, ''), ...columns, ['the kind', schema.description] as const].filter(
        ([path]) => !['.metadata', 'column Age'].includes(path),
      );
      expect(all.length).to.be.greaterThan(10);
      expect(all.filter(([, text]) => !/^[A-Z'0-9].*[.)]$/s.test(text ?? '')).map(([path]) => path)).to.deep.equal([]);
    });
});
