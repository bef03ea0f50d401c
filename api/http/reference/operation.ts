/** An operation as HTML: text and fields, and its examples beside them. */
import { attributes, html, NOTHING, type Html, type HtmlValue } from '../../web/html.ts';
import { badge, code as codeBlock, linkedHeading, type BadgeKind } from '../../web/components/index.ts';
import { curlOf } from './curl.ts';
import { examplesOf, jsonText, slug, type OpenApi, type Operation, type Parameter, type Response, type Schemas } from './document.ts';
import { errorAnchor, errorsOf } from './errors.ts';
import { code, entryList, nested, separated, typeLabel, valueNotes } from './fields.ts';
import { inline, markdown } from './markdown.ts';

/** What every part of the page is made from. */
export interface ReferenceContext {
  document: OpenApi;
  schemas: Schemas;
  /** Headers of every response, which are described once. */
  commonHeaders: ReadonlySet<string>;
}

const METHOD_BADGES: Readonly<Record<string, BadgeKind>> = { GET: 'note', POST: 'good', DELETE: 'bad' };

export const schemeAnchor = (name: string): string => `authentication-${slug(name)}`;
export const headerAnchor = (name: string): string => `header-${slug(name)}`;

/** The path, which may break before each slash. */
const pathText = (path: string): Html => html`${path.split(/(?=\/)/).map((part) => html`<wbr />${part}`)}`;

export const methodBadge = (method: string): Html => badge(METHOD_BADGES[method] ?? 'plain', method);

export function operationSection(operation: Operation, context: ReferenceContext): Html {
  const { operationId: id, summary: title, method, path, description } = operation;
  return html`<section class="operation">
    ${linkedHeading(3, id, title)}
    <p class="endpoint">${methodBadge(method)} <code translate="no">${pathText(path)}</code></p>
    <div class="reference-columns">
      <div class="reference-text">
        ${description !== undefined && markdown(description)}
        <p class="facts">${authorisation(operation)}</p>
        ${parameterLists(operation, context)}${bodyPart(operation, context)}${responsePart(operation, context)}${errorPart(operation)}
      </div>
      <div class="reference-examples">${examples(operation, context)}</div>
    </div>
  </section>`;
}

/** How to authenticate, with the scopes. */
function authorisation({ security = [] }: Operation): Html {
  if (security.length === 0) return html`No authentication.`;
  const ways = security.flatMap(Object.entries<readonly string[]>).map(([name, scopes]) => {
    const link = html`<a href="#${schemeAnchor(name)}">${name}</a>`;
    return scopes.length === 0 ? link : html`${link} with the scope ${separated(scopes.map(code), ', ')}`;
  });
  return html`Authentication: ${separated(ways, ', or ')}.`;
}

const PLACES: readonly (readonly [place: string, title: string])[] = [
  ['path', 'Path parameters'],
  ['query', 'Query parameters'],
  ['header', 'Request headers'],
];

function parameterLists({ parameters = [] }: Operation, { schemas }: ReferenceContext): HtmlValue {
  const entry = ({ name, required = false, schema = {}, description }: Parameter) => ({ name, required, schema, description });
  return PLACES.map(([place, title]) => {
    const here = parameters.filter((parameter) => parameter.in === place);
    return here.length > 0 && html`<h4>${title}</h4>${entryList(here.map(entry), schemas, 'request')}`;
  });
}

function bodyPart({ requestBody }: Operation, { schemas }: ReferenceContext): HtmlValue {
  if (requestBody === undefined) return NOTHING;
  return html`<h4>Request body</h4>
    ${Object.entries(requestBody.content).map(
      ([mediaType, { schema = {} }]) =>
        html`<p class="facts">${code(mediaType)}, ${typeLabel(schema, schemas)}${requestBody.required === true && ', required'}.</p>
          ${valueNotes(schema, schemas)}${nested(schema, schemas, 'request')}`,
    )}`;
}

/** Every response that is not an error only. */
function responsePart({ responses }: Operation, context: ReferenceContext): Html {
  const items = Object.entries(responses)
    .filter(([status, response]) => errorsOf(status, response) === null)
    .map(([status, response]) => responseEntry(status, response, context));
  return html`<h4>Responses</h4>
    <dl class="responses">${items}</dl>`;
}

function responseEntry(status: string, { description, headers = {}, content = {} }: Response, context: ReferenceContext): Html {
  const { schemas, commonHeaders } = context;
  const links = Object.keys(headers)
    .filter((name) => !commonHeaders.has(name))
    .map((name) => html`<a href="#${headerAnchor(name)}">${name}</a>`);
  return html`<div>
    <dt>${statusBadge(status)}</dt>
    <dd>
      <p>${inline(description)}</p>
      ${Object.entries(content).map(
        ([mediaType, { schema = {} }]) =>
          html`<p class="facts">${code(mediaType)}, ${typeLabel(schema, schemas)}.</p>
            ${valueNotes(schema, schemas)}${nested(schema, schemas, 'response')}`,
      )}
      ${Object.keys(content).length === 0 && html`<p class="facts">No body.</p>`}
      ${links.length > 0 && html`<p class="facts">Headers: ${separated(links, ', ')}.</p>`}
    </dd>
  </div>`;
}

const statusBadge = (status: string): Html => badge(status < '300' ? 'good' : status < '400' ? 'note' : 'bad', status);

/** The codes of the errors, each with a link to what it means. */
function errorPart({ responses }: Operation): HtmlValue {
  const rows = Object.entries(responses).flatMap(([status, response]) =>
    (errorsOf(status, response) ?? []).map(({ code: name, message }) =>
      name === null
        ? html`<li>${status} <a href="#validation-errors">list of errors</a>: ${inline(response.description)}</li>`
        : html`<li>${status} <a href="#${errorAnchor(name)}">${code(name)}</a>${message !== null && html`: ${message}`}</li>`,
    ),
  );
  if (rows.length === 0) return NOTHING;
  return html`<h4>Errors</h4>
    <ul class="error-list">${rows}</ul>`;
}

/** The request as a command, then the example of each response. The first is open. */
function examples(operation: Operation, { document }: ReferenceContext): Html {
  const { operationId: id, responses, summary: title } = operation;
  const bodies = Object.entries(responses).flatMap(([status, response]) =>
    errorsOf(status, response) !== null
      ? []
      : Object.entries(response.content ?? {}).flatMap(([mediaType, media]) =>
          examplesOf(media).map(({ name, value }) => ({ status, name, mediaType, text: jsonText(value) })),
        ),
  );
  return html`<h4>Request</h4>
    ${codeBlock({ id: `${id}-curl`, text: curlOf(operation, document), label: `Request: ${title}`, whole: true })}
    ${bodies.length > 0 && html`<h4>Examples of responses</h4>`}
    ${bodies.map(({ status, name, text }, at) => {
      const label = `${status} ${name}`;
      return html`<details${attributes({ open: at === 0 })}>
        <summary>${label}</summary>
        ${codeBlock({ id: `${id}-${slug(label)}`, text, label: `Response ${label}: ${title}`, whole: true })}
      </details>`;
    })}`;
}
