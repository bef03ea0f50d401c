/** `/docs` over HTTP: every page, every link and anchor of them, and the search. */
import { expect } from 'chai';
import { DomUtils, parseDocument } from 'htmlparser2';
import { DOC_NAMES } from '../../api/docs/render.ts';
import { ERROR_CODES } from '../../api/http/errors.ts';
import { docPath, DOCS_PATH, DOCS_SEARCH_PATH, errorDocsPath } from '../../core/web-paths.ts';
import { useContext } from './context.ts';

/** What a page has: where its links lead, what can be linked to, and its text. */
interface Read {
  status: number;
  links: string[];
  ids: ReadonlySet<string>;
  text: string;
}

describe('the documentation', () => {
  const context = useContext();

  async function read(path: string): Promise<Read> {
    const response = await fetch(context.url + path, { headers: { accept: 'text/html' } });
    const root = parseDocument(await response.text());
    const elements = DomUtils.getElementsByTagName('*', root);
    const ids = elements.map(({ attribs }) => attribs['id']).filter((id) => id !== undefined);
    expect(new Set(ids).size, `${path} has an ID twice`).to.equal(ids.length);
    return {
      status: response.status,
      links: elements.filter(({ name }) => name === 'a').map(({ attribs }) => attribs['href']!),
      ids: new Set(ids),
      text: DomUtils.textContent(root).replace(/\s+/g, ' '),
    };
  }

  /** The addresses on this service that a page links to. */
  const insideOf = (path: string, { links }: Read): URL[] =>
    links.map((href) => new URL(href, `http://own${path}`)).filter(({ host }) => host === 'own');

  it('has a page for each name, with an anchor for each heading and no link that leads nowhere', async () => {
    const pages = new Map<string, Read>();
    const open = [DOCS_PATH];
    for (let path = open.pop(); path !== undefined; path = open.pop()) {
      if (pages.has(path)) continue;
      const page = await read(path);
      pages.set(path, page);
      if (path.startsWith(DOCS_PATH)) open.push(...insideOf(path, page).map(({ pathname }) => pathname));
    }
    const broken = [...pages].flatMap(([path, page]) =>
      path.startsWith(DOCS_PATH)
        ? insideOf(path, page).filter(({ pathname, hash }) => {
            const { status, ids } = pages.get(pathname)!;
            return status === 404 || (hash !== '' && !ids.has(decodeURIComponent(hash.slice(1))));
          })
        : [],
    );
    expect(broken.map(({ href }) => href)).to.deep.equal([]);
    expect([...pages.keys()]).to.include.members(DOC_NAMES.map(docPath));
  });

  it('explains each error code where docs_url leads', async () => {
    const [path] = errorDocsPath(null).split('#');
    const { ids } = await read(path!);
    const anchors = [...ERROR_CODES, null].map((code) => errorDocsPath(code).split('#')[1]);
    expect(anchors.filter((anchor) => !ids.has(anchor!))).to.deep.equal([]);
    const unknown = await context.request('GET', '/v1/nothing');
    expect(unknown.body).to.include({ detail: 'not_found', docs_url: '/docs/reference#not_found' });
    const { key } = await context.organisation();
    const invalid = await context.request('POST', '/v1/ci/scans', { key, body: {} });
    expect([invalid.status, (invalid.body as { docs_url: string }).docs_url]).to.deep.equal([422, '/docs/reference#validation-errors']);
  });

  it('finds sections, and shows what was searched for as text, whatever the form sends', async () => {
    const { links } = await read(`${DOCS_SEARCH_PATH}?q=WEBHOOK+signature`);
    expect(links).to.include('/docs/webhooks#verify-a-request');
    const response = await fetch(`${context.url}${DOCS_SEARCH_PATH}?q=${encodeURIComponent('<b>"x"')}`);
    expect(await response.text())
      .to.include('&lt;b&gt;')
      .and.not.include('<b>');
    for (const query of ['', '?q=a&q=b', `?q=${'x'.repeat(5_000)}`]) expect((await read(DOCS_SEARCH_PATH + query)).status).to.equal(200);
  });

  it('answers with the page of a missing page for other names, and with 405 for other methods', async () => {
    for (const name of ['nothing', '..%2Fpackage', 'constructor'])
      expect(await read(docPath(name)), name)
        .to.include({ status: 404 })
        .and.have.property('text')
        .that.includes('Page not found');
    const post = await fetch(context.url + DOCS_PATH, { method: 'POST' });
    expect([post.status, post.headers.get('allow')]).to.deep.equal([405, 'GET, HEAD']);
  });

  it('is asked for again with its ETag', async () => {
    const first = await fetch(context.url + docPath('reference'));
    const again = await fetch(context.url + docPath('reference'), { headers: { 'if-none-match': first.headers.get('etag')! } });
    expect([first.status, again.status]).to.deep.equal([200, 304]);
  });
});
