/**
 * Compares the texts of the dashboard in the code (`api/web/texts.ts`) with the catalogues of the other languages, and says what is
 * missing, not used, or has other values or plural forms. `--missing LOCALE` prints the texts to translate as JSON.
 */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import { createScanForm } from '../api/dashboard/scans/scan-form.ts';
import { SCOPE_MEANINGS } from '../core/accounts.ts';
import { AUDIT_ACTIONS } from '../core/audit-actions.ts';
import { PASSWORD_PROBLEMS } from '../core/passwords.ts';
import { BASELINE_TEXT, CHECK_DOUBTS, NOTHING_TO_FIX } from '../core/scan/baseline.ts';
import { TIME_PROBLEMS } from '../core/schedule/recurrence.ts';
import { type Catalogue, CATALOGUES, keyOf } from '../api/web/texts.ts';

const ROOT = join(import.meta.dirname, '..');

/** Each text of the code by its key: null, or its form for one. */
export function textsInCode(): Map<string, string | null> {
  const texts = new Map<string, string | null>();
  for (const file of globSync('api/{web,dashboard,accounts}/**/*.ts', { cwd: ROOT })) {
    const source = ts.createSourceFile(file, readFileSync(join(ROOT, file), 'utf8'), ts.ScriptTarget.Latest);
    const visit = (node: ts.Node): void => {
      if (ts.isTaggedTemplateExpression(node) && ts.isIdentifier(node.tag) && ['t', 'm'].includes(node.tag.text)) {
        const { template } = node;
        const parts = ts.isTemplateExpression(template)
          ? [template.head.text, ...template.templateSpans.map(({ literal }) => literal.text)]
          : [template.text];
        texts.set(keyOf(parts), null);
      }
      if (ts.isCallExpression(node) && ts.isIdentifier(node.expression) && node.expression.text === 'forms') {
        const [one, other] = node.arguments.filter((argument) => ts.isStringLiteral(argument)).map(({ text }) => text);
        if (one !== undefined && other !== undefined) texts.set(other, one);
      }
      ts.forEachChild(node, visit);
    };
    visit(source);
  }
  // Those that commands show too.
  const ofCommands = [...Object.values(PASSWORD_PROBLEMS), ...Object.values(CHECK_DOUBTS), NOTHING_TO_FIX, BASELINE_TEXT];
  const ofForm = Object.values(createScanForm(1).groups).flatMap((fields) =>
    fields.flatMap(({ label, description }) => [label, description ?? []].flat()),
  );
  for (const text of [...ofCommands, ...ofForm]) texts.set(text, null);
  for (const text of [SCOPE_MEANINGS, AUDIT_ACTIONS, TIME_PROBLEMS].flatMap(Object.values<string>)) texts.set(text, null);
  return texts;
}

const valuesOf = (text: string): string => [...new Set(text.match(/\{\w+\}/g) ?? [])].sort().join(' ');

/** What is wrong with a catalogue, a line each. */
export function problemsOf(locale: keyof typeof CATALOGUES, texts: ReadonlyMap<string, string | null>): string[] {
  const catalogue: Catalogue = CATALOGUES[locale];
  const unused = Object.keys(catalogue).filter((key) => !texts.has(key));
  const categories = new Intl.PluralRules(locale).resolvedOptions().pluralCategories.toSorted().join(' ');
  const wrong = [...texts].flatMap(([key, one]) => {
    const found = catalogue[key];
    if (found === undefined) return [`missing: ${key}`];
    if ((one === null) !== (typeof found === 'string')) return [`other kind: ${key}`];
    if (typeof found !== 'string' && Object.keys(found).sort().join(' ') !== categories) return [`plural forms: ${key}`];
    const forms = typeof found === 'string' ? [found] : Object.values(found);
    return forms.every((form) => form.trim() !== '' && valuesOf(form) === valuesOf(key)) ? [] : [`values: ${key}`];
  });
  return [...unused.map((key) => `not used: ${key}`), ...wrong].map((problem) => `${locale}: ${problem}`);
}

if (import.meta.main) {
  const texts = textsInCode();
  const [option, locale] = process.argv.slice(2);
  const known = CATALOGUES[locale as keyof typeof CATALOGUES] as Catalogue | undefined;
  if (option === '--missing' && known !== undefined) {
    const missing = [...texts]
      .filter(([key]) => known[key] === undefined)
      .map(([key, one]) => [key, one === null ? '' : { one, other: key }]);
    console.log(JSON.stringify(Object.fromEntries(missing), null, 2));
  } else {
    const problems = (Object.keys(CATALOGUES) as (keyof typeof CATALOGUES)[]).flatMap((one) => problemsOf(one, texts));
    console.log(problems.join('\n'));
    process.exitCode = problems.length === 0 ? 0 : 1;
  }
}
