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

const all = (name: string, nodes: Element | Section): Element[] => DomUtils.getElementsByTagName(name, nodes as Element);
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

  const fieldsOf = ({ $ref, properties = {} }: Schema): string[] =>
    Object.keys($ref === undefined ? properties : (document.components.schemas[$ref.split('/').at(-1)!]!.properties ?? {}));
  it('shows every operation with its parameters, its body, its examples and the scope of its key, and lists it in the contents', () => {
    const operations = operationsOf(document);
    expect(operations.length).to.be.greaterThan(15);
    const contents = all('nav', root).find(({ attribs }) => attribs['aria-label'] === 'Contents')!;
    for (const { operationId: id, method, path, summary, parameters = [], requestBody, responses, security = [] } of operations) {
      const section = sectionOf(summary);
      expect(text(section), id).to.include(`${method} ${path}`);
      expect(all('a', contents).map((link) => text(link).trim())).to.include(summary);
      for (const { name, description: meaning = '', required = false } of parameters) {
        const [row] = rowsOf(name, section);
        expect(text(row!), `${id} ${name}`).to.include(plain(meaning));
        expect(/, required/.test(text(row!)), `${id} ${name}`).to.equal(required);
      }
      for (const field of Object.values(requestBody?.content ?? {}).flatMap(({ schema }) => fieldsOf(schema!)))
        expect(rowsOf(field, section), `${id} ${field}`).to.not.deep.equal([]);
      for (const [status, { content = {} }] of Object.entries(responses))
        for (const { value } of Object.values(content).flatMap(({ examples = {} }) => Object.values(examples)))
          if (status < '400') expect(codes(section), `${id} ${status}`).to.include(jsonText(value));
      for (const scope of security.flatMap((requirement) => Object.values(requirement).flat()))
        expect(codes(section), id).to.include(scope);
    }
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
});
