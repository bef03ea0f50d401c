/** `/docs/api` shows the whole OpenAPI document: the tests read the document, and look for each part of it in the page. */
import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { DomUtils, parseDocument } from 'htmlparser2';
import { EXAMPLE_END } from '../../api/accounts/known-issues.ts';
import { jsonText, operationsOf, type OpenApi, type Schema } from '../../tools/api-reference.ts';
import { API_REFERENCE_PATH } from '../../core/web-paths.ts';
import { useContext } from './context.ts';

/** The end that the page has for EXAMPLE_END, which changes each day (tools/docs.ts). */
const WRITTEN_END = '2030-01-31T12:00:00Z';

type Element = ReturnType<typeof DomUtils.getElementsByTagName>[number];
/** A heading with what follows it up to the next one. */
type Section = readonly Element[];

const text = (nodes: Element | Section): string => DomUtils.textContent(nodes as Element).replace(/\s+/g, ' ');
const plain = (markdown: string): string =>
  markdown
    .replace(/`([^`]+)`|\*\*([^*]+)\*\*|^## /gm, '$1$2')
    .replace(/\s+/g, ' ')
    .trim();

function problemOf(check: () => void): unknown {
  try {
    check();
    return null;
  } catch (error) {
    return error;
  }
}

const all = (name: string, nodes: Element | Section): Element[] => DomUtils.getElementsByTagName(name, nodes as Element);
const links = (nodes: Element | Section): string[] => all('a', nodes).map(({ attribs }) => attribs.href!);
const codes = (nodes: Element | Section): string[] => all('code', nodes).map((one) => DomUtils.textContent(one));
/** The rows of a field or parameter, whose name is the last part of the first cell. */
const rowsOf = (name: string, section: Section): Element[] =>
  all('tr', section).filter((row) => new RegExp(`(?:^|\\.)${RegExp.escape(name)}$`).test(codes(row)[0] ?? ''));

describe('GET /docs/api', () => {
  const context = useContext();
  let document: OpenApi;
  let root: Element;
  const sections = new Map<string, Element[]>();
  before(async () => {
    document = (await context.request('GET', '/openapi.json')).body as OpenApi;
    root = parseDocument((await context.request('GET', API_REFERENCE_PATH)).text).children.find((node) => node.type === 'tag') as Element;
    const body = DomUtils.findOne((node) => node.attribs['class'] === 'docs-body', [root])!;
    let name = '';
    for (const node of body.children.filter((child) => child.type === 'tag') as Element[]) {
      if (/^h[23]$/.test(node.name)) name = text(node).trim();
      sections.set(name, [...(sections.get(name) ?? []), node]);
    }
  });

  const sectionOf = (name: string): Section => {
    expect([...sections.keys()]).to.include(name);
    return sections.get(name)!;
  };

  /** What a schema allows, and its fields, must be in `place`, or in the object that `place` links to. */
  function expectSchema(schema: Schema, place: Section, what: string, shown = text(place)): void {
    const name = schema.$ref?.split('/').at(-1);
    if (name !== undefined) {
      if (!sections.has(name)) return expectSchema(document.components.schemas[name]!, place, what, shown);
      return void expect(links(place), what).to.include(`#${name.toLowerCase()}`);
    }
    for (const one of [...(schema.anyOf ?? []), ...(schema.items === undefined ? [] : [schema.items])])
      expectSchema(one, place, what, shown);
    expectFacts(schema, shown, what);
    for (const [field, one] of Object.entries(schema.properties ?? {})) {
      const rows = rowsOf(field, place);
      expect(rows, `${what}.${field}`).to.not.deep.equal([]);
      // Objects of one section may have fields of the same name.
      const found = rows.map((row) => problemOf(() => expectField(one, row, place, `${what}.${field}`)));
      if (!found.includes(null)) throw found[0];
    }
  }

  function expectField(schema: Schema, row: Element, place: Section, what: string): void {
    for (const type of [schema.type ?? []].flat()) expect(text(row), what).to.include(type);
    expectSchema(schema, place, what, text(row));
  }

  function expectFacts(schema: Schema, shown: string, what: string): void {
    const limits = Object.entries(schema).filter(([name, value]) => /^(?:min|max)/.test(name) && typeof value === 'number');
    const values = [...(schema.enum ?? []), ...(schema['x-extensible-enum'] ?? []), ...limits.map(([, value]) => value)];
    for (const value of values) expect(shown, what).to.include(String(value));
    if (schema.default !== undefined) expect(shown, what).to.match(/Default: /);
    for (const one of [schema.format, schema.pattern]) if (one !== undefined) expect(shown, what).to.include(one);
    if (schema.description !== undefined) expect(shown, what).to.include(plain(schema.description));
  }

  it('shows the description and the authentication, and names the document', () => {
    const shown = text(root);
    for (const part of document.info.description.split('\n\n').slice(1)) expect(shown).to.include(plain(part));
    for (const { description, name } of Object.values(document.components.securitySchemes))
      for (const part of [name, plain(description)]) expect(shown).to.include(part);
    expect(codes(root)).to.include('/openapi.json');
  });

  it('shows every operation with its parameters, its body and the scope of its key, and lists it in the contents', () => {
    const operations = operationsOf(document);
    expect(operations.length).to.be.greaterThan(15);
    const contents = all('nav', root).find(({ attribs }) => attribs['aria-label'] === 'Contents')!;
    for (const { operationId: id, method, path, summary, description = '', parameters = [], requestBody, security = [] } of operations) {
      const section = sectionOf(summary);
      for (const part of [`${method} ${path}`, plain(description)]) expect(text(section), id).to.include(part);
      expect(all('a', contents).map((link) => text(link).trim())).to.include(summary);
      for (const { name, description: meaning = '', required = false, schema = {} } of parameters) {
        const [row] = rowsOf(name, section);
        expect(row, `${id} ${name}`).to.not.equal(undefined);
        expect(text(row!)).to.include(plain(meaning));
        expect(/, required/.test(text(row!)), `${id} ${name}`).to.equal(required);
        expectSchema(schema, section, `${id} ${name}`, text(row!));
      }
      for (const { schema } of Object.values(requestBody?.content ?? {})) expectSchema(schema!, section, `${id} body`);
      for (const scope of security.flatMap((requirement) => Object.values(requirement).flat()))
        expect(codes(section), id).to.include(scope);
    }
  });

  it('shows every response with its schema and its headers, every example, and links to every error', () => {
    const shared = sectionOf('Error bodies');
    const bodies = codes(shared).filter((one) => one.startsWith('{'));
    let examples = 0;
    for (const { operationId: id, summary, responses, requestBody } of operationsOf(document)) {
      const section = sectionOf(summary);
      for (const [status, { headers = {}, content = {} }] of Object.entries(responses)) {
        for (const [name, { description = '' }] of Object.entries(headers))
          expect(text(rowsOf(name, sectionOf('Response headers'))), name).to.include(plain(description));
        for (const media of Object.values(content)) {
          for (const { value } of Object.values(media.examples ?? {})) {
            const { detail } = value as { detail?: unknown };
            examples += 1;
            if (status < '400' || detail === undefined) expect(codes(section), `${id} ${status}`).to.include(jsonText(value));
            else if (typeof detail === 'string')
              expect(links([...section, ...shared]), `${id} ${status}`).to.include(`/docs/reference#${detail}`);
            if (status < '400' || detail === undefined) continue;
            const fields = Object.keys(value as object);
            const same = bodies.filter((body) => fields.every((name) => Object.keys(JSON.parse(body) as object).includes(name)));
            expect(same, `${id} ${status} ${String(detail)}`).to.not.deep.equal([]);
          }
          if (status < '400') expectSchema(media.schema!, section, `${id} ${status}`);
        }
      }
      const [command] = codes(section).filter((one) => one.startsWith('curl '));
      for (const { example } of Object.values(requestBody?.content ?? {}))
        expect(command).to.include(jsonText(example).replace(EXAMPLE_END, WRITTEN_END));
    }
    expect(examples).to.be.greaterThan(80);
  });

  it('shows every object', () => {
    for (const [name, schema] of Object.entries(document.components.schemas))
      if (sections.has(name)) expectSchema(schema, sectionOf(name), name);
  });

  it('gives commands that work', async () => {
    const { id: organisation, key } = await context.organisation({ credits: 20 });
    const { id } = await context.scan(organisation, {
      phase: 'done',
      finishedAt: new Date(),
      reports: await context.storeReports(randomUUID()),
    });
    for (const { summary, responses, parameters = [] } of operationsOf(document)) {
      const [example = ''] = codes(sectionOf(summary)).filter((one) => one.startsWith('curl '));
      const command = example.replace(WRITTEN_END, EXAMPLE_END);
      const variables = parameters.map(({ name }) => [name.toUpperCase(), id]);
      const { stdout } = await promisify(execFile)(
        'sh',
        ['-c', `curl() { command curl -sS -m 10 -w '\\n%{http_code}' "$@"; }\n${command}`],
        {
          env: { PATH: process.env.PATH, CURBCUT_URL: context.url, CURBCUT_API_KEY: key, ...Object.fromEntries(variables) },
        },
      );
      const [, body, status] = /^([^]*)\n(\d{3})$/.exec(stdout)!;
      expect(Object.keys(responses), `${command}\n${body}`).to.include(status);
      // The scan may have ended or have no pictures, but the request itself is right.
      const mistaken = ['bad_request', 'invalid_api_key', 'not_found', 'method_not_allowed', 'unsupported_media_type', 'permission_denied'];
      const { detail } = status! >= '400' ? (JSON.parse(body!) as { detail: unknown }) : { detail: null };
      expect([...mistaken, status === '422' && Array.isArray(detail)], `${command}\n${body}`)
        .to.not.include(detail)
        .and.not.include(true);
    }
  });

  it('is small, and the same in each encoding', async () => {
    const get = (encoding: string) => fetch(context.url + API_REFERENCE_PATH, { headers: { 'accept-encoding': encoding } });
    const texts = await Promise.all(['br', 'gzip', 'identity'].map(async (encoding) => (await get(encoding)).text()));
    expect(new Set(texts).size).to.equal(1);
    expect(Number((await get('br')).headers.get('content-length')))
      .to.be.greaterThan(0)
      .and.lessThan(150_000);
  });

  it('is the same for every visitor, with the policy of every other page', async () => {
    const other = await context.replica();
    const first = await fetch(`${other.url}/docs/api?first=visitor`, { headers: { 'accept-language': 'de', cookie: 'a=b' } });
    expect(await first.text()).to.equal(await (await fetch(context.url + API_REFERENCE_PATH)).text());
    const policy = (await fetch(`${context.url}/dashboard/sign-in`)).headers.get('content-security-policy');
    expect(policy).to.include("default-src 'none'").and.not.include('unsafe');
    expect(first.headers.get('content-security-policy')).to.equal(policy);
  });

  it('is asked for again with its ETag, and then sent only if it has changed', async () => {
    const get = (headers: Record<string, string>) => fetch(context.url + API_REFERENCE_PATH, { headers });
    const first = await get({});
    const etag = first.headers.get('etag')!;
    expect(first.headers.get('cache-control')).to.equal('no-cache');
    for (const known of [etag, etag.replace('W/', ''), `"other", ${etag}`, '*']) {
      const again = await get({ 'if-none-match': known });
      expect([again.status, again.headers.get('etag'), await again.text()], known).to.deep.equal([304, etag, '']);
      expect(again.headers.get('content-security-policy')).to.not.equal(null);
    }
    expect((await get({ 'if-none-match': '"other"' })).status).to.equal(200);
  });
});
