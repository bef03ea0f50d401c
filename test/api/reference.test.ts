/** `/docs/api` shows the whole OpenAPI document: the tests read the document, and look for each part of it in the page. */
import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { DomUtils, parseDocument } from 'htmlparser2';
import { jsonText, operationsOf, type OpenApi, type Schema } from '../../api/http/reference/document.ts';
import { ERROR_CODES, ERRORS } from '../../api/http/errors.ts';
import { API_REFERENCE_PATH } from '../../core/web-paths.ts';
import { useContext } from './context.ts';

type Element = ReturnType<typeof DomUtils.getElementsByTagName>[number];

const text = (node: Parameters<typeof DomUtils.textContent>[0]): string => DomUtils.textContent(node).replace(/\s+/g, ' ');
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

const all = (name: string, node: Element): Element[] => DomUtils.getElementsByTagName(name, node);

describe('GET /docs/api', () => {
  const context = useContext();
  let document: OpenApi;
  let root: Element;
  before(async () => {
    document = (await context.request('GET', '/openapi.json')).body as OpenApi;
    root = parseDocument((await context.request('GET', API_REFERENCE_PATH)).text).children.find((node) => node.type === 'tag') as Element;
  });

  const byId = (id: string): Element | null => DomUtils.getElementById(id, root);
  const sectionOf = (id: string): Element => {
    const heading = byId(id);
    expect(heading, `#${id}`).to.not.equal(null);
    return heading!.parent as Element;
  };
  const links = (node: Element): string[] => all('a', node).map(({ attribs }) => attribs.href!);
  const codes = (node: Element): string[] => all('code', node).map((one) => DomUtils.textContent(one));

  /** What a schema allows must be in the text; its fields must be in `place`, or in the object that `place` links to. */
  function expectSchema(schema: Schema, place: Element, what: string): void {
    const name = /^#\/components\/schemas\/(.+)$/.exec(schema.$ref ?? '')?.[1];
    if (name !== undefined) {
      if (byId(`object-${name}`) === null) return expectSchema(document.components.schemas[name]!, place, what);
      return void expect(links(place), what).to.include(`#object-${name}`);
    }
    for (const one of [...(schema.anyOf ?? []), ...(schema.items === undefined ? [] : [schema.items])]) expectSchema(one, place, what);
    expectFacts(schema, text(place), what);
    for (const [field, one] of Object.entries(schema.properties ?? {})) {
      const rows = all('dt', place).filter((dt) => DomUtils.textContent(all('code', dt)[0] ?? dt) === field);
      expect(rows, `${what}.${field}`).to.not.deep.equal([]);
      // Variants may have fields of the same name.
      const found = rows.map((row) => problemOf(() => expectField(one, row.parent as Element, `${what}.${field}`)));
      if (!found.includes(null)) throw found[0];
    }
  }

  function expectField(schema: Schema, row: Element, what: string): void {
    for (const type of [schema.type ?? []].flat()) expect(text(row), what).to.include(type);
    expectSchema(schema, row, what);
  }

  function expectFacts(schema: Schema, shown: string, what: string): void {
    const limits = Object.entries(schema).filter(([name, value]) => /^(?:min|max)/.test(name) && typeof value === 'number');
    const values = [...(schema.enum ?? []), ...(schema['x-extensible-enum'] ?? []), ...limits.map(([, value]) => value)];
    for (const value of values) expect(shown, what).to.include(String(value));
    if (schema.default !== undefined) expect(shown, what).to.match(/Default: /);
    for (const one of [schema.format, schema.pattern]) if (one !== undefined) expect(shown, what).to.include(one);
    if (schema.description !== undefined) expect(shown, what).to.include(plain(schema.description));
  }

  it('shows the description, the authentication, the base address and the document', () => {
    const shown = text(root);
    for (const part of document.info.description!.split('\n\n')) expect(shown).to.include(plain(part));
    for (const { description, name } of Object.values(document.components!.securitySchemes!))
      for (const part of [name!, plain(description!)]) expect(shown).to.include(part);
    expect(shown).to.include('https://curbcut.example').and.include(document.info.version);
    expect(links(root)).to.include('/openapi.json');
  });

  it('shows every operation with its parameters, its body and the scope of its key, and lists it in the contents', () => {
    const operations = operationsOf(document);
    expect(operations.length).to.be.greaterThan(15);
    const contents = DomUtils.getElementsByTagName('nav', root).find(({ attribs }) => attribs['aria-label'] === 'Contents')!;
    for (const {
      operationId: id,
      method,
      path,
      summary: title,
      description = '',
      parameters = [],
      requestBody,
      security = [],
    } of operations) {
      const section = sectionOf(id);
      for (const part of [method, path, title, plain(description)]) expect(text(section), id).to.include(part);
      expect(links(contents)).to.include(`#${id}`);
      const dts = all('dt', section);
      for (const { name, description: meaning = '', required = false, schema = {} } of parameters) {
        const row = dts.find((dt) => DomUtils.textContent(all('code', dt)[0]!) === name)?.parent as Element | undefined;
        expect(row, `${id} ${name}`).to.not.equal(undefined);
        expect(text(row!)).to.include(plain(meaning));
        expect(/ required/.test(text(row!)), `${id} ${name}`).to.equal(required);
        expectSchema(schema, row!, `${id} ${name}`);
      }
      for (const { schema } of Object.values(requestBody?.content ?? {})) expectSchema(schema!, section, `${id} body`);
      for (const scope of security.flatMap((requirement) => Object.values(requirement).flat()))
        expect(codes(section), id).to.include(scope);
    }
  });

  it('shows every response with its schema and its headers, and every example', () => {
    let examples = 0;
    for (const { operationId: id, responses, requestBody } of operationsOf(document)) {
      const section = sectionOf(id);
      for (const [status, { headers = {}, content = {} }] of Object.entries(responses)) {
        expect(text(section), id).to.include(status);
        for (const [name, { description = '' }] of Object.entries(headers))
          expect(text(byId(`header-${name.toLowerCase()}`)!.parent as Element), name).to.include(plain(description));
        for (const media of Object.values(content)) {
          for (const { value } of Object.values(media.examples ?? {})) {
            const { detail } = value as { detail?: unknown };
            examples += 1;
            const known = typeof detail === 'string' && status >= '400';
            if (known) expect(links(section), `${id} ${status}`).to.include(`#error-${detail}`);
            const place = known ? (byId(`error-${detail}`)!.parent as Element) : root;
            expect(codes(place), `${id} ${status}`).to.include(jsonText(value));
          }
          if (status < '400') expectSchema(media.schema!, section, `${id} ${status}`);
        }
      }
      const [command] = codes(byId(`${id}-curl`)!.parent as Element);
      for (const { example } of Object.values(requestBody?.content ?? {})) expect(command).to.include(jsonText(example));
    }
    expect(examples).to.be.greaterThan(80);
  });

  it('shows every object, and each error code with its status and its message', () => {
    for (const [name, schema] of Object.entries(document.components!.schemas!))
      if (byId(`object-${name}`) !== null) expectSchema(schema, sectionOf(`object-${name}`), name);
    for (const code of ERROR_CODES) {
      const entry = text(byId(`error-${code}`)!.parent as Element);
      expect(entry).to.include(ERRORS[code].status).and.include(plain(ERRORS[code].message));
    }
  });

  it('has unique anchors, and no link to a missing one', () => {
    const ids = DomUtils.filter((node) => node.type === 'tag', root).map((node) => (node as Element).attribs.id);
    const named = ids.filter((id) => id !== undefined);
    expect(named.filter((id, at) => named.indexOf(id) !== at)).to.deep.equal([]);
    expect(links(root).filter((href) => href.startsWith('#') && !named.includes(href.slice(1)))).to.deep.equal([]);
  });

  it('gives commands that work', async () => {
    const { id: organisation, key } = await context.organisation({ credits: 20 });
    const { id } = await context.scan(organisation, {
      phase: 'done',
      finishedAt: new Date(),
      reports: await context.storeReports(randomUUID()),
    });
    for (const { operationId: operation, responses, parameters = [] } of operationsOf(document)) {
      const command = DomUtils.textContent(byId(`${operation}-curl`)!).replace('https://curbcut.example', context.url);
      const variables = parameters.map(({ name }) => [name.toUpperCase(), id]);
      const { stdout } = await promisify(execFile)(
        'sh',
        ['-c', `curl() { command curl -sS -m 10 -w '\\n%{http_code}' "$@"; }\n${command}`],
        {
          env: { PATH: process.env.PATH, CURBCUT_API_KEY: key, ...Object.fromEntries(variables) },
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

  describe('over HTTP', () => {
    const get = (headers: Record<string, string> = {}, path = API_REFERENCE_PATH) => fetch(context.url + path, { headers });

    it('has the policy of every other page', async () => {
      const policy = (await get({}, '/dashboard/sign-in')).headers.get('content-security-policy');
      expect(policy).to.include("default-src 'none'").and.not.include('unsafe');
      expect((await get()).headers.get('content-security-policy')).to.equal(policy);
    });

    it('loads and links to nothing outside', async () => {
      const loaded = [...all('script', root), ...all('link', root), ...all('img', root)].map(({ attribs }) => attribs.src ?? attribs.href!);
      expect(loaded.filter((address) => !address.startsWith('/assets/'))).to.deep.equal(['https://curbcut.example/docs/api']);
      expect(links(root).filter((href) => !/^[#/]/.test(href))).to.deep.equal([]);
    });

    it('is asked for again with its ETag, and then sent only if it has changed', async () => {
      const first = await get();
      const etag = first.headers.get('etag')!;
      expect(first.headers.get('cache-control')).to.equal('no-cache');
      for (const known of [etag, etag.replace('W/', ''), `"other", ${etag}`, '*']) {
        const again = await get({ 'if-none-match': known });
        expect([again.status, again.headers.get('etag'), await again.text()], known).to.deep.equal([304, etag, '']);
        expect(again.headers.get('content-security-policy')).to.not.equal(null);
      }
      expect((await get({ 'if-none-match': '"other"' })).status).to.equal(200);
    });

    it('is small, and the same in each encoding', async () => {
      const texts = await Promise.all(
        ['br', 'gzip', 'identity'].map(async (encoding) => (await get({ 'accept-encoding': encoding })).text()),
      );
      expect(new Set(texts).size).to.equal(1);
      const size = (await get({ 'accept-encoding': 'br' })).headers.get('content-length');
      expect(Number(size)).to.be.greaterThan(0).and.lessThan(150_000);
    });

    it('does not depend on the first visitor', async () => {
      const other = await context.replica();
      const first = await fetch(`${other.url}/docs/api?first=visitor`, { headers: { 'accept-language': 'de', cookie: 'a=b' } });
      expect(await first.text()).to.equal(await (await get()).text());
    });

    it('accepts no other method, and has no files below it', async () => {
      const post = await fetch(`${context.url}/docs/api`, { method: 'POST' });
      expect([post.status, post.headers.get('allow')]).to.deep.equal([405, 'GET, HEAD']);
      expect((await fetch(`${context.url}/docs/api`, { method: 'HEAD' })).status).to.equal(200);
      for (const path of ['/docs/api/json', '/docs/static/index.html']) expect((await get({}, path)).status).to.equal(404);
    });
  });
});
