import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import fc from 'fast-check';
import { parseDocument } from 'htmlparser2';
import { attributes, html } from './html.ts';

const ROOT = join(import.meta.dirname, '..', '..');
/** Mails have styles in their elements, because many programs that show them ignore style sheets. */
const isMail = (file: string): boolean => file.startsWith('api/outbox/mail-');
const sources = globSync('{api,operator,report}/**/*.ts', { cwd: ROOT, exclude: ['**/*.test.ts'] });

describe('html templates', () => {
  it('escape texts and attribute values', () => {
    expect(html`<p title="${'"><script>'}">${'<b>&"\''}</p>`.toString()).to.equal(
      '<p title="&quot;&gt;&lt;script&gt;">&lt;b&gt;&amp;&quot;&#39;</p>',
    );
  });

  it('do not escape templates within templates twice', () => {
    expect(html`<ul>${['a&b', 'c'].map((text) => html`<li>${text}</li>`)}</ul>`.toString()).to.equal('<ul><li>a&amp;b</li><li>c</li></ul>');
  });

  it('leave out null, undefined, true and false, but not zero', () => {
    expect(html`${null}${undefined}${true}${false}${0}${''}`.toString()).to.equal('0');
  });

  it('write attributes in quotes, and leave out those without a value', () => {
    const element = html`<input${attributes({ value: 'a"b', disabled: true, id: null, name: undefined, checked: false, max: 0 })}>`;
    expect(element.toString()).to.equal('<input value="a&quot;b" disabled max="0">');
  });

  it('reject attribute names that could end the tag', () => {
    expect(() => attributes({ 'x onload=': 'y' })).to.throw('not an attribute name');
  });

  it('keep any text a text', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'binary' }).filter((text) => !/[\r\0]/.test(text)),
        (text) => {
          const { children } = parseDocument(html`<p title="${text}">x${text}</p>`.toString());
          const [element] = children as unknown as { attribs: Record<string, string>; children: { data: string }[] }[];
          expect(children).to.have.length(1);
          expect(element!.attribs.title).to.equal(text);
          expect(element!.children.map(({ data }) => data).join('')).to.equal(`x${text}`);
        },
      ),
    );
  });
});

describe('the sources of pages', () => {
  it('use raw HTML only in api/web and report/html', () => {
    const raw = sources.filter((file) =>
      /\braw\b[^;]*from '[^']*(?:html\.ts|hono\/html)'|\braw\(/.test(readFileSync(join(ROOT, file), 'utf8')),
    );
    expect(raw.filter((file) => !/^(api\/web|report\/html)\//.test(file))).to.deep.equal([]);
  });

  it('import hono in one file only, apart from mails', () => {
    const importers = sources.filter((file) => /from 'hono/.test(readFileSync(join(ROOT, file), 'utf8')));
    expect(importers.filter((file) => !isMail(file))).to.deep.equal(['report/html/html.ts']);
  });

  it('put attribute values in quotes, and contain neither inline scripts nor inline styles', () => {
    const found = sources.flatMap((file) =>
      readFileSync(join(ROOT, file), 'utf8')
        .split('\n')
        .filter(
          (line) =>
            /^(api|report\/html)\//.test(file) &&
            !isMail(file) &&
            (/<[a-z][^`]*\s[a-z-]+=\$\{/.test(line) ||
              /<[a-z][^>`]*\s(?:style|on[a-z]+)="/.test(line) ||
              // A report is one file, whose policy allows exactly its own script.
              (file !== 'report/html/report.ts' && /<script(?![^>]*\bsrc=)[^`]*>/.test(line))),
        )
        .map((line) => `${file}: ${line.trim()}`),
    );
    expect(found).to.deep.equal([]);
  });
});
