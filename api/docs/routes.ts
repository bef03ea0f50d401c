/** `/docs`: the pages of docs/ that are for users, and a search that needs no script. */
import { DEFAULT_LOCALE } from '../../core/scan/locales.ts';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { FastifyPluginAsync, FastifyRequest } from 'fastify';
import { docPath, DOCS_PATH, DOCS_SEARCH_PATH } from '../../core/web-paths.ts';
import { ApiError } from '../http/errors.ts';
import htmlScope from '../web/html-scope.ts';
import { html, type Html } from '../../report/html/html.ts';
import { publicPage, type PublicPageOptions } from '../web/layout.ts';
import { fixedPage, type FixedPage } from '../web/assets.ts';
import { contentsPage, docPage, searchPage } from './pages.ts';
import { QUERY_MAX, searchDocs } from './search.ts';
import { type DocPage, outlineOf, readDocs, renderDoc } from './render.ts';

export const docsRoutes: FastifyPluginAsync = async (app) => {
  const texts = await readDocs();
  const rendered = new Map<string, DocPage>();
  /** A page by its name, rendered when it is first needed. */
  function pageOf(name: string): DocPage | null {
    const text = texts.get(name);
    if (text === undefined) return null;
    const page = rendered.get(name) ?? renderDoc(text);
    rendered.set(name, page);
    return page;
  }
  /** Every page by its name, in the order of the contents. */
  async function allPages(): Promise<ReadonlyMap<string, DocPage>> {
    for (const name of texts.keys()) {
      if (rendered.has(name)) continue;
      pageOf(name);
      // Other requests are answered in between: together the pages take about a second of CPU.
      await nextTurn();
    }
    return new Map([...texts.keys()].map((name) => [name, rendered.get(name)!]));
  }
  const fixed = new Map<string, Promise<FixedPage>>();
  /** The page of an address: made once, because it is the same for every visitor. */
  function once(address: string, make: () => Promise<Html>): Promise<FixedPage> {
    const page = fixed.get(address) ?? make().then(fixedPage);
    fixed.set(address, page);
    return page;
  }
  await app.register(htmlScope);

  app.get(DOCS_PATH, async (request, reply) =>
    reply.fixedPage(
      await once(DOCS_PATH, async () =>
        framed(request, {
          title: 'Documentation',
          description: 'How to scan sites with Curbcut, read the results, and run an installation.',
          indexed: true,
          body: contentsPage(new Map([...texts].map(([name, text]) => [name, outlineOf(text)]))),
        }),
      ),
    ),
  );

  app.get<{ Querystring: { q?: unknown; page?: unknown } }>(DOCS_SEARCH_PATH, async (request, reply) => {
    const { q, page } = request.query;
    // Values that the form does not send are cut or ignored, as in the dashboard's lists.
    const query = typeof q === 'string' ? q.trim().slice(0, QUERY_MAX) : '';
    const title = query === '' ? 'Search the documentation' : `Search results for “${query}”`;
    const limited = typeof page === 'string' ? pageOf(page) : null;
    const within = limited && { name: page as string, title: limited.title };
    const searched = limited === null ? await allPages() : new Map([[page as string, limited]]);
    return reply.page(framed(request, { title, body: searchPage(query, searchDocs(searched, query), within) }));
  });

  app.get<{ Params: { page: string } }>(docPath(':page'), async (request, reply) => {
    const { page: name } = request.params;
    const page = pageOf(name);
    if (page === null) throw new ApiError('not_found');
    const { title, summary: description } = page;
    return reply.fixedPage(
      await once(docPath(name), async () => framed(request, { title, description, indexed: true, body: docPage(name, page) })),
    );
  });
};

const framed = (request: FastifyRequest, options: Pick<PublicPageOptions, 'title' | 'description' | 'indexed' | 'body'>): Html =>
  publicPage({
    request,
    locale: DEFAULT_LOCALE,
    translated: false,
    head: html`<link rel="stylesheet" href="${request.server.web.assets.url('docs.css')}" />`,
    ...options,
  });
