/** Generates docs/api.md from the OpenAPI document. */
import { MongoClient } from 'mongodb';
import pino from 'pino';
import { table } from './reference.ts';
import { buildApp } from '../api/app.ts';
import { createAnchors } from '../api/docs/render.ts';
import { ERROR_CODES, ERRORS, VALIDATION_STATUS } from '../api/http/errors.ts';
import { createMetrics } from '../api/metrics.ts';
import { ScanLimitSettings } from '../platform/settings.ts';
import { openStores } from '../stores/stores.ts';

/** A JSON Schema, as far as the API uses it. */
export interface Schema extends Readonly<Record<string, unknown>> {
  $ref?: string;
  type?: string | readonly string[];
  format?: string;
  description?: string;
  default?: unknown;
  enum?: readonly unknown[];
  'x-extensible-enum'?: readonly unknown[];
  properties?: Readonly<Record<string, Schema>>;
  required?: readonly string[];
  additionalProperties?: boolean | Schema;
  items?: Schema;
  anyOf?: readonly Schema[];
  pattern?: string;
  uniqueItems?: boolean;
}

interface Response {
  description: string;
  headers?: Readonly<Record<string, { description?: string }>>;
  content?: Content;
}
type Content = Readonly<Record<string, { schema?: Schema; example?: unknown; examples?: Readonly<Record<string, { value?: unknown }>> }>>;

interface Operation {
  operationId: string;
  summary: string;
  description?: string;
  tags: readonly [string];
  /** Ways to authenticate, each with one scheme and its scopes. */
  security?: readonly Readonly<Record<string, readonly string[]>>[];
  parameters?: readonly { name: string; in: string; required?: boolean; description?: string; schema?: Schema }[];
  requestBody?: { content: Content };
  responses: Readonly<Record<string, Response>>;
}

/** The parts that every document of ours has are not optional. */
export interface OpenApi {
  info: { version: string; description: string };
  tags: readonly { name: string; description: string }[];
  paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  components: {
    schemas: Readonly<Record<string, Schema>>;
    securitySchemes: Readonly<Record<string, { in: string; name: string; description: string }>>;
  };
}

export const operationsOf = ({ paths }: Pick<OpenApi, 'paths'>) =>
  Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ ...operation, method: method.toUpperCase(), path })),
  );
type PathOperation = ReturnType<typeof operationsOf>[number];

/** The document of an app that never starts: it opens no connection. */
async function openApi(): Promise<OpenApi> {
  const mongo = new MongoClient('mongodb://127.0.0.1:1');
  const unused = {} as never;
  const app = await buildApp(
    {
      stores: { ...openStores(mongo.db('unused')), reports: unused, scanResources: unused, scheduleResources: unused },
      bus: unused,
      resolver: unused,
      now: () => new Date(),
      logger: pino({ level: 'silent' }),
      metrics: createMetrics(),
    },
    {
      publicBaseUrl: 'https://curbcut.example.com',
      namespace: 'curbcut-scans',
      targets: { allow: [], deny: [] },
      maxPagesLimit: (ScanLimitSettings.MAX_PAGES_LIMIT as { default?: number }).default!,
      maxLiveScans: 1,
      maxLiveScansPerOrganisation: 1,
      maxEventStreams: 1,
      version: '0',
    },
  );
  await app.ready();
  const document = app.swagger() as unknown as OpenApi;
  await app.close();
  await mongo.close();
  return document;
}

const code = (value: unknown): string => `\`${typeof value === 'string' && value !== '' ? value : JSON.stringify(value)}\``;
const block = (language: string, text: string): string => `\`\`\`${language}\n${text}\n\`\`\``;
export const jsonText = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value, null, 2));
const section = (...parts: readonly string[]): string => parts.filter((part) => part !== '').join('\n\n');
const line = (text = ''): string => text.replace(/\s*\n\s*/g, ' ').trim();

const examplesOf = (content: Content = {}): unknown[] =>
  Object.values(content).flatMap(({ example, examples = {} }) => [
    ...(example === undefined ? [] : [example]),
    ...Object.values(examples).map(({ value }) => value),
  ]);

/** The fields of schemas. A named schema is shown where it is used if that is only one place, else as an object that is linked to. */
function schemaTexts({ paths, components: { schemas } }: OpenApi) {
  const uses = [...JSON.stringify({ paths, schemas }).matchAll(/#\/components\/schemas\/(\w+)/g)].map(([, name]) => name!);
  const objects = Object.keys(schemas).filter((one) => uses.filter((name) => name === one).length !== 1);
  const nameOf = ({ $ref }: Schema): string | undefined => $ref?.split('/').at(-1);
  const isObject = (schema: Schema): boolean => objects.includes(nameOf(schema) ?? '');
  const shown = (schema: Schema): Schema => (schema.$ref === undefined || isObject(schema) ? schema : schemas[nameOf(schema)!]!);

  function type(schema: Schema): string {
    if (isObject(schema)) return `[${nameOf(schema)}](#${nameOf(schema)!.toLowerCase()})`;
    const { anyOf, items, type: names, format } = shown(schema);
    if (anyOf !== undefined) return anyOf.map(type).join(' or ');
    if (items !== undefined) return `array of ${type(items)}`;
    const plain = names === undefined ? 'any value' : [names].flat().join(' or ');
    return format === undefined ? plain : `${plain} (${format})`;
  }

  /** "1 to 5 items", "at least 1 item", "at most 5 items". */
  function range(schema: Schema, suffix: string, unit: string): string[] {
    const [least, most] = [schema[`min${suffix}`], schema[`max${suffix}`]] as (number | undefined)[];
    const counted = (count: number): string => (unit === '' ? String(count) : `${count} ${unit}${count === 1 ? '' : 's'}`);
    if (least === undefined) return most === undefined ? [] : [`At most ${counted(most)}.`];
    if (most === undefined) return [`At least ${counted(least)}.`];
    return [least === most ? `Exactly ${counted(most)}.` : `${least} to ${counted(most)}.`];
  }

  /** Description, default, allowed values and limits. */
  function notes(schema: Schema, description = schema.description): string {
    const values = schema.enum ?? schema['x-extensible-enum'];
    const item = schema.items === undefined ? '' : notes(shown(schema.items));
    return [
      line(description),
      ...(schema.default === undefined ? [] : [`Default: ${code(schema.default)}.`]),
      ...(values === undefined ? [] : [`${values.length === 1 ? 'Always' : 'One of'} ${values.map(code).join(', ')}.`]),
      ...range(schema, 'imum', ''),
      ...range(schema, 'Length', 'character'),
      ...range(schema, 'Items', 'item'),
      ...range(schema, 'Properties', 'field'),
      ...(schema.uniqueItems === true ? ['No duplicates.'] : []),
      ...(schema.pattern === undefined ? [] : [`Pattern: ${code(schema.pattern)}.`]),
      ...(item === '' ? [] : [`Each item: ${item}`]),
    ]
      .filter((text) => text !== '')
      .join(' ');
  }

  /** A row for each field, and below it those within. @param sent requests must have the required fields; responses may lack the others */
  function rows(schema: Schema, sent: boolean, prefix = ''): string[][] {
    const { properties = {}, required = [], additionalProperties, items, anyOf = [] } = shown(schema);
    const fields = Object.entries(properties);
    if (typeof additionalProperties === 'object') fields.push(['*', additionalProperties]);
    const own = fields.flatMap(([name, field]) => {
      const mark = required.includes(name) === sent && name !== '*' ? (sent ? ', required' : ', optional') : '';
      const meaning = isObject(field) ? line(field.description) : notes(shown(field), field.description ?? shown(field).description);
      return [[code(prefix + name), type(field) + mark, meaning], ...rows(field, sent, `${prefix + name}.`)];
    });
    return [
      ...own,
      ...(items === undefined ? [] : rows(items, sent, prefix.replace(/\.?$/, '[].'))),
      ...anyOf.flatMap((one) => rows(one, sent, prefix)),
    ];
  }

  /** What a body is, with a table of its fields. */
  function fields(schema: Schema, sent: boolean): string {
    const all = rows(schema, sent);
    const note = isObject(schema) ? '' : notes(shown(schema));
    return section(note, all.length === 0 ? '' : table(['field', 'type', 'meaning'], all));
  }
  return { objects, type, notes: (schema: Schema) => notes(shown(schema)), fields };
}
type SchemaTexts = ReturnType<typeof schemaTexts>;

/** The command that sends a request. Its address is in double quotes, in which the shell replaces variables: `{scan_id}` is `$SCAN_ID`. */
function curl({ method, path, security = [], requestBody, responses }: PathOperation): string {
  const quoted = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`;
  const [mediaType] = Object.keys(requestBody?.content ?? {});
  const [example] = examplesOf(requestBody?.content);
  const streams = Object.values(responses).some(({ content = {} }) => 'text/event-stream' in content);
  const options = [
    ...(security.length === 0 ? [] : ['-H "X-API-Key: $CURBCUT_API_KEY"']),
    ...(mediaType === undefined ? [] : [`-H ${quoted(`Content-Type: ${mediaType}`)}`]),
    ...(example === undefined ? [] : [`-d ${quoted(jsonText(example))}`]),
  ];
  // curl sends POST by itself if there is a body.
  const chosen = method === 'GET' || (method === 'POST' && example !== undefined) ? '' : `-X ${method} `;
  const address = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => `$${name.toUpperCase()}`);
  return [`curl ${streams ? '-N ' : ''}${chosen}"$CURBCUT_URL${address}"`, ...options].join(' \\\n  ');
}

/** The errors that a response answers with; null if it is not an error, or has other bodies too. A list of errors has no code. */
function errorsOf(status: string, { content }: Response): { code: string | null; body: Record<string, unknown> }[] | null {
  const bodies = examplesOf(content) as Record<string, unknown>[];
  if (status < '400' || bodies.length === 0 || !bodies.every(({ detail }) => typeof detail === 'string' || Array.isArray(detail)))
    return null;
  return bodies.map((body) => ({ code: typeof body['detail'] === 'string' ? body['detail'] : null, body }));
}

const errorLink = (name: string | null): string =>
  name === null
    ? `${VALIDATION_STATUS} [list of errors](#error-bodies)`
    : `${ERRORS[name as keyof typeof ERRORS].status} [${code(name)}](reference.md#${name})`;

function operationText(
  operation: PathOperation,
  common: { errors: ReadonlySet<string>; headers: ReadonlySet<string> },
  schemas: SchemaTexts,
): string {
  const { method, path, summary, description = '', security = [], parameters = [], requestBody, responses } = operation;
  const ways = security
    .flatMap((way) => Object.entries(way))
    .map(([scheme, scopes]) => [scheme, ...scopes].map(code).join(' with the scope '));
  const failures = Object.entries(responses).flatMap(([status, response]) =>
    (errorsOf(status, response) ?? []).map((error) => ({ ...error, description: response.description })),
  );
  const own = failures.filter((failure) => failure.code === null || !common.errors.has(failure.code));
  const errors = own.map(
    ({ code: name, body, description: meaning }) => `- ${errorLink(name)}: ${name === null ? meaning : String(body['message'])}`,
  );
  const answers = Object.entries(responses).filter(([status, response]) => errorsOf(status, response) === null);
  return section(
    `### ${summary}`,
    `${code(`${method} ${path}`)}${ways.length === 0 ? '' : `, authenticated by ${ways.join(' or ')}`}`,
    description,
    block('sh', curl(operation)),
    ...(parameters.length === 0
      ? []
      : [
          '#### Parameters',
          table(
            ['parameter', 'type', 'meaning'],
            parameters.map(({ name, in: place, required = false, description: meaning, schema = {} }) => [
              code(name),
              `${schemas.type(schema)} in the ${place}${required ? ', required' : ''}`,
              [line(meaning), schemas.notes({ ...schema, description: undefined })].join(' ').trim(),
            ]),
          ),
        ]),
    ...Object.entries(requestBody?.content ?? {}).flatMap(([mediaType, { schema = {} }]) => [
      '#### Request body',
      `${code(mediaType)}: ${schemas.type(schema)}.`,
      schemas.fields(schema, true),
    ]),
    ...answers.flatMap(([status, { description: meaning, content = {}, headers = {} }]) => {
      const links = Object.keys(headers).filter((name) => !common.headers.has(name));
      return [
        `#### Response ${status}`,
        `${line(meaning)}${Object.keys(content).length === 0 ? ' No body.' : ''}${links.length === 0 ? '' : ` [Headers](#response-headers): ${links.map(code).join(', ')}.`}`,
        ...Object.entries(content).flatMap(([mediaType, { schema = {} }]) => [
          `${code(mediaType)}: ${schemas.type(schema)}.`,
          schemas.fields(schema, false),
        ]),
        ...examplesOf(content).map((value) => block(typeof value === 'string' ? 'text' : 'json', jsonText(value))),
      ];
    }),
    ...(errors.length === 0 ? [] : ['#### Errors', [...new Set(errors)].join('\n')]),
  );
}

/** The errors that every operation with a key has, and an example of each body that has more than the fields of all errors. */
function commonErrors(operations: readonly PathOperation[]) {
  const found = operations.map(({ security, responses }) => ({
    keyed: security !== undefined,
    errors: Object.entries(responses).flatMap(([status, response]) => errorsOf(status, response) ?? []),
  }));
  const keyed = found.filter((one) => one.keyed).map(({ errors }) => new Set(errors.map((error) => error.code)));
  const everywhere = new Set(ERROR_CODES.filter((name) => keyed.every((codes) => codes.has(name))) as string[]);
  const bodies = [
    ...new Map(found.flatMap(({ errors }) => errors).map(({ code: name, body }) => [`${name} ${Object.keys(body).join()}`, body])).values(),
  ];
  const plain = bodies.find(({ detail }) => detail === 'scan_not_found')!;
  const larger = bodies.filter((body) => body['detail'] !== plain['detail'] && Object.keys(body).some((name) => !(name in plain)));
  const lists = bodies.filter(({ detail }) => Array.isArray(detail));
  return { everywhere, bodies: [plain, ...lists, ...larger] };
}

/** Every header of a response, with its different descriptions. */
function headerRows(operations: readonly PathOperation[]): { name: string; everywhere: boolean; row: string[] }[] {
  const responses = operations.flatMap((operation) => Object.values(operation.responses));
  const found = responses.flatMap(({ headers = {} }) =>
    Object.entries(headers).map(([name, { description }]) => ({ name, description: line(description) })),
  );
  return [...Map.groupBy(found, ({ name }) => name)].map(([name, uses]) => {
    const everywhere = uses.length === responses.length;
    const meaning = [...new Set(uses.map(({ description }) => description))].join(' ');
    return { name, everywhere, row: [code(name), everywhere ? 'every response' : 'some', meaning] };
  });
}

export async function apiPage(): Promise<string> {
  const document = await openApi();
  const operations = operationsOf(document);
  const schemas = schemaTexts(document);
  const headers = headerRows(operations);
  const errors = commonErrors(operations);
  const common = { errors: errors.everywhere, headers: new Set(headers.filter(({ everywhere }) => everywhere).map(({ name }) => name)) };
  const anchorOf = createAnchors();
  const sent = JSON.stringify(operations.map(({ requestBody }) => requestBody));
  return `${section(
    '# API reference',
    `Look up every operation with its fields, errors, examples and a curl command. The commands read the address of the service from \`CURBCUT_URL\`,
the key from \`CURBCUT_API_KEY\`, and IDs from variables such as \`SCAN_ID\`. To generate a client, use the OpenAPI document of your
installation, \`/openapi.json\`, as in [examples/clients](../examples/clients/README.md).`,
    'This page is generated from the code by `make docs`; `make lint` fails if it is out of date.',
    '## Operations',
    table(
      ['operation', 'description'],
      document.tags.flatMap(({ name }) =>
        operations
          .filter(({ tags }) => tags[0] === name)
          .map(({ method, path, summary }) => [code(`${method.toUpperCase()} ${path}`), `[${summary}](#${anchorOf(summary)})`]),
      ),
    ),
    '## Authentication',
    table(
      ['name', 'where', 'meaning'],
      Object.entries(document.components.securitySchemes).map(([name, scheme]) => [
        code(name),
        `${scheme.in} ${code(scheme.name)}`,
        scheme.description,
      ]),
    ),
    document.info.description
      .split(/^(?=## )/m)
      .slice(1)
      .join('')
      .trim(),
    ...document.tags.flatMap(({ name, description }) => [
      `## ${name}`,
      description,
      ...operations.filter(({ tags }) => tags[0] === name).map((operation) => operationText(operation, common, schemas)),
    ]),
    '## Objects',
    'Bodies and parts of bodies that several operations share.',
    ...schemas.objects.flatMap((name) => {
      const isSent = sent.includes(`#/components/schemas/${name}"`);
      return [`### ${name}`, schemas.fields(document.components.schemas[name]!, isSent)];
    }),
    '## Error bodies',
    `Every operation with a key can also answer with ${[...common.errors].map(errorLink).join(', ')}. [reference.md](reference.md#errors) explains every code.`,
    ...errors.bodies.map((body) => block('json', jsonText(body))),
    '## Response headers',
    table(
      ['header', 'in', 'meaning'],
      headers.map(({ row }) => row),
    ),
  )}\n`;
}
