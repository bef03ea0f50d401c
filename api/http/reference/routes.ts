/** `/docs/api`: the reference of the API. */
import type { FastifyPluginAsync } from 'fastify';
import { API_REFERENCE_PATH } from '../../../core/web-paths.ts';
import { docsBreadcrumb } from '../../docs/pages.ts';
import htmlScope from '../../web/html-scope.ts';
import { html } from '../../web/html.ts';
import { DEFAULT_LOCALE } from '../../web/languages.ts';
import { publicPage } from '../../web/layout.ts';
import { fixedPage, type FixedPage } from '../../web/packed.ts';
import type { OpenApi } from './document.ts';
import { referencePage } from './page.ts';

export const referenceRoutes: FastifyPluginAsync = async (app) => {
  let page: Promise<FixedPage> | null = null;
  await app.register(htmlScope);
  app.get(API_REFERENCE_PATH, async (request, reply) => {
    // The document is complete when the app is ready, and does not change afterwards.
    const document = app.swagger() as unknown as OpenApi;
    page ??= fixedPage(
      publicPage({
        request,
        locale: DEFAULT_LOCALE,
        title: 'API reference',
        description: 'Operations, fields, errors and examples of the Curbcut API.',
        indexed: true,
        translated: false,
        head: html`<link rel="stylesheet" href="${app.web.assets.url('reference.css')}" />`,
        body: html`${docsBreadcrumb('API reference')}${referencePage(document)}`,
      }),
    );
    return reply.fixedPage(await page);
  });
};
