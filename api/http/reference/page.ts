/** The reference of the API as a page, made from the OpenAPI document alone. */
import { VALIDATION_STATUS } from '../errors.ts';
import { badge, code as codeBlock, linkButton, linkedHeading } from '../../web/components/index.ts';
import { html, type Html, type HtmlValue } from '../../web/html.ts';
import { operationsOf, schemasOf, slug, tagsOf, type Header, type OpenApi, type Operation } from './document.ts';
import { errorAnchor, errorEntries, errorsOf, type ErrorEntry } from './errors.ts';
import { code, nested, objectAnchor, valueNotes } from './fields.ts';
import { headingsOf, inline, markdown } from './markdown.ts';
import { headerAnchor, operationSection, schemeAnchor, type ReferenceContext } from './operation.ts';

const DOCUMENT_PATH = '/openapi.json';

const tagAnchor = (name: string): string => `tag-${slug(name)}`;

/** The content of the main part. */
export function referencePage(document: OpenApi): Html {
  const headers = headersOf(document);
  const context: ReferenceContext = {
    document,
    schemas: schemasOf(document),
    commonHeaders: new Set(headers.filter(({ common }) => common).map(({ name }) => name)),
  };
  return html`<h1>${document.info.title} API reference</h1>
  <div class="reference">
    ${contents(context)}
    <div class="reference-body">
      ${overview(document)}
      ${tagsOf(document).map(
        ({ name, description, operations }) =>
          html`<section class="reference-part">
            ${linkedHeading(2, tagAnchor(name), name)}${markdown(description)}
            ${operations.map((operation) => operationSection(operation, context))}
          </section>`,
      )}
      ${objects(context)}${errors(document)}${headerList(headers)}
    </div>
  </div>`;
}

const item = (href: string, text: HtmlValue, within?: HtmlValue): Html => html`<li><a href="#${href}">${text}</a>${within}</li>`;
const list = (items: readonly Html[]): Html =>
  html`<ul>
    ${items}
  </ul>`;

function contents({ document, schemas }: ReferenceContext): Html {
  const sections = headingsOf(document.info.description).map(({ id, text }) => item(id, text));
  return html`<nav class="reference-contents" aria-label="Contents">
    ${list([
      item('overview', 'Overview', list([item('authentication', 'Authentication'), ...sections])),
      ...tagsOf(document).map(({ name, operations }) =>
        item(tagAnchor(name), name, list(operations.map(({ operationId, summary }) => item(operationId, summary)))),
      ),
      item('objects', 'Objects', list([...schemas.objects].map((name) => item(objectAnchor(name), name)))),
      item('errors', 'Errors'),
      item('response-headers', 'Response headers'),
    ])}
  </nav>`;
}

function overview(document: OpenApi): Html {
  const { version, description } = document.info;
  const [introduction = '', ...sections] = description.split(/^(?=## )/m);
  return html`<section class="reference-part">
      <div class="reference-columns">
        <div class="reference-text">
          ${linkedHeading(2, 'overview', 'Overview')}${markdown(introduction)}
          ${linkedHeading(3, 'authentication', 'Authentication')}
          <dl class="fields">
            ${Object.entries(document.components.securitySchemes).map(
              ([name, scheme]) =>
                html`<div>
                  <dt id="${schemeAnchor(name)}">${code(name)} <span class="field-type">${scheme.in} ${code(scheme.name)}</span></dt>
                  <dd>${markdown(scheme.description)}</dd>
                </div>`,
            )}
          </dl>
          ${markdown(sections.join(''))}
        </div>
        <div class="reference-examples">
          <h3>Base address</h3>${codeBlock({ id: 'base-address', text: document.servers[0].url, label: 'Base address', whole: true })}
          <h3>Commands</h3>
          <p>The command of each operation reads the key from ${code('$CURBCUT_API_KEY')}, and IDs from variables such as ${code('$SCAN_ID')}.</p>
          <h3>OpenAPI document</h3>
          <p>Version ${version}. This page is made from it; use it to generate clients.</p>
          <p>${linkButton({ text: 'openapi.json', href: DOCUMENT_PATH })}</p>
        </div>
      </div>
    </section>`;
}

function objects({ schemas }: ReferenceContext): Html {
  const items = [...schemas.objects].map((name) => {
    const schema = schemas.byName[name]!;
    return html`<section class="operation">
      ${linkedHeading(3, objectAnchor(name), name)}${valueNotes(schema, schemas)}${nested(schema, schemas, schemas.sent.has(name) ? 'request' : 'response')}
    </section>`;
  });
  return html`<section class="reference-part">
    ${linkedHeading(2, 'objects', 'Objects')}
    <p>Bodies and parts of bodies that several operations share.</p>
    ${items}
  </section>`;
}

function errors(document: OpenApi): Html {
  const all = operationsOf(document);
  const entries = errorEntries(document);
  return html`<section class="reference-part">
    ${linkedHeading(2, 'errors', 'Errors')}
    <p>
      The values of ${code('detail')}, by status. Those without operations come before any operation, such as for an unknown path, or from
      the dashboard.
    </p>
    <dl class="fields">${entries.map((entry) => errorEntry(entry, all.length))}</dl>
    ${validationErrors(all)}
  </section>`;
}

function errorEntry({ code: name, status, message, bodies, operations }: ErrorEntry, all: number): Html {
  const uses = operations.map(({ operationId, summary }) => html`<li><a href="#${operationId}">${summary}</a></li>`);
  return html`<div>
    <dt id="${errorAnchor(name)}">${code(name)} <span class="field-type">${status}</span></dt>
    <dd>
      <p>${inline(message)}</p>
      ${operations.length === all && html`<p class="facts">Every operation can answer with it.</p>`}
      ${
        operations.length > 0 &&
        html`<details>
          <summary>Body${operations.length < all && ' and operations'} <span class="visually-hidden">of ${name}</span></summary>
          ${bodies.map((body, at) => codeBlock({ id: `${errorAnchor(name)}-body-${at + 1}`, text: body, label: `Body of ${name}`, whole: true }))}
          ${operations.length < all && html`<ul>${uses}</ul>`}
        </details>`
      }
    </dd>
  </div>`;
}

/** The bodies of invalid requests, which have a list instead of a code. */
function validationErrors(operations: readonly Operation[]): Html {
  const bodies = new Set(
    operations.flatMap(({ responses }) =>
      Object.entries(responses).flatMap(([status, response]) =>
        (errorsOf(status, response) ?? []).filter((error) => error.code === null).map(({ body }) => body),
      ),
    ),
  );
  return html`${linkedHeading(3, 'validation-errors', 'Invalid requests')}
    <p>For an invalid request (${VALIDATION_STATUS}), ${code('detail')} is a list with one entry for each error.</p>
    ${[...bodies].map((body, at) => codeBlock({ id: `validation-body-${at + 1}`, text: body, label: 'Body of an invalid request', whole: true }))}`;
}

interface DescribedHeader {
  name: string;
  /** Whether every response of every operation has it. */
  common: boolean;
  variants: readonly Header[];
}

/** Every header of a response, with its different descriptions. */
function headersOf(document: OpenApi): DescribedHeader[] {
  const responses = operationsOf(document).flatMap((operation) => Object.values(operation.responses));
  const found = responses.flatMap(({ headers = {} }) => Object.entries(headers).map(([name, header]) => ({ name, header })));
  return [...Map.groupBy(found, ({ name }) => name)].map(([name, uses]) => ({
    name,
    common: uses.length === responses.length,
    variants: [...new Map(uses.map(({ header }) => [header.description, header])).values()],
  }));
}

function headerList(headers: readonly DescribedHeader[]): Html {
  return html`<section class="reference-part">
    ${linkedHeading(2, 'response-headers', 'Response headers')}
    <dl class="fields">
      ${headers.map(
        ({ name, common, variants }) =>
          html`<div>
            <dt id="${headerAnchor(name)}">${code(name)}${common && html` ${badge('plain', 'every response')}`}</dt>
            <dd>${variants.map(({ description }) => description !== undefined && markdown(description))}</dd>
          </div>`,
      )}
    </dl>
  </section>`;
}
