/** Checks every response of every test against the app's own OpenAPI document, and records which errors occurred. */
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { expect } from 'chai';
import { ERROR_CODES, VALIDATION_TYPES } from '../../api/http/errors.ts';

interface Header {
  required?: boolean;
  schema: object;
}
interface Response {
  headers?: Record<string, Header>;
  content?: Record<string, { schema: object; examples?: Record<string, { value: unknown }> }>;
}
export interface OpenApiDocument {
  openapi: string;
  paths: Record<string, Record<string, { responses: Record<string, Response>; operationId?: string; security?: unknown[] }>>;
  components: { schemas: Record<string, object>; securitySchemes: Record<string, object> };
  [key: string]: unknown;
}

/** Errors and operations that have occurred in a test. */
export const seen = { codes: new Set<string>(), types: new Set<string>(), operations: new Set<string>() };

/** The parts of a response that are checked. */
export interface Answer {
  status: number;
  headers: Headers;
  text: string;
}

/**
 * Closes the schemas of a document. The document leaves responses open, because they may gain fields and values within
 * `/v1`. A test that returns an undocumented field or value must fail.
 */
function strict(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(strict);
  if (typeof node !== 'object' || node === null) return node;
  const { 'x-extensible-enum': values, ...rest } = node as Record<string, unknown>;
  const closed = Object.fromEntries(Object.entries(rest).map(([name, value]) => [name, strict(value)]));
  if (values !== undefined) closed.enum = values;
  if (closed.type === 'object' && closed.properties !== undefined) closed.additionalProperties ??= false;
  return closed;
}

const contracts = new Map<string, Contract>();

/** The checker of an app's document. Apps with equal documents share it, because it compiles the schemas. */
export function contractOf(published: OpenApiDocument): Contract {
  const key = JSON.stringify(published);
  const contract = contracts.get(key) ?? createContract(published);
  contracts.set(key, contract);
  return contract;
}

function createContract(published: OpenApiDocument) {
  const document = strict(published) as OpenApiDocument;
  const ajv = addFormats.default(new Ajv2020({ strict: false, allErrors: true }));
  ajv.addSchema({ $id: 'https://openapi.test/document', ...document });
  const compiled = new Map<string, ValidateFunction>();
  const pointer = (...steps: string[]): string =>
    steps.map((step) => `/${encodeURIComponent(step.replaceAll('~', '~0').replaceAll('/', '~1'))}`).join('');
  const validatorAt = (path: string): ValidateFunction => {
    const known = compiled.get(path) ?? ajv.compile({ $ref: `https://openapi.test/document#${path}` });
    compiled.set(path, known);
    return known;
  };
  const mustMatch = (path: string, value: unknown, what: string): void => {
    const validate = validatorAt(path);
    expect(validate(value), `${what} does not match its schema: ${ajv.errorsText(validate.errors)}\n${JSON.stringify(value)}`).to.equal(
      true,
    );
  };

  const schemaAt = (path: string, method: string, status: string, mediaType: string): string =>
    pointer('paths', path, method.toLowerCase(), 'responses', status, 'content', mediaType, 'schema');

  const templates = Object.keys(document.paths).map((template) => ({
    template,
    pattern: new RegExp(`^${template.replace(/[.]/g, '\\.').replace(/\{[^}]+\}/g, '[^/]+')}$`),
  }));

  /** @throws AssertionError if a response differs from the document */
  function check(method: string, path: string, answer: Answer): void {
    const what = `${method} ${path} → ${answer.status}`;
    expect(answer.headers.get('x-request-id'), `${what} has no X-Request-Id`).to.match(/^[\x21-\x7e]{1,128}$/);
    const json =
      /^application\/json/.test(answer.headers.get('content-type') ?? '') && answer.text !== ''
        ? (JSON.parse(answer.text) as unknown)
        : undefined;
    recordErrors(json);
    if (answer.status >= 400 && json !== undefined && 'detail' in (json as object))
      expect(json, what).to.have.property('request_id', answer.headers.get('x-request-id'));

    const template = templates.find(({ pattern }) => pattern.test(new URL(path, 'http://host').pathname))?.template;
    const operations = template === undefined ? undefined : document.paths[template];
    if (template === undefined || operations === undefined) {
      if (path.startsWith('/docs')) return;
      expect(answer.status, `${what}: the path is not in the document`).to.equal(404);
      if (method !== 'HEAD') mustMatch(pointer('components', 'schemas', 'Error'), json, what);
      return;
    }
    const operation = operations[(method === 'HEAD' ? 'get' : method).toLowerCase()];
    if (operation === undefined || (method === 'HEAD' && answer.status === 405)) {
      expect(answer.status, `${what}: the method is not in the document`).to.equal(405);
      expect(answer.headers.get('allow')).to.not.equal(null);
      if (method !== 'HEAD') mustMatch(pointer('components', 'schemas', 'Error'), json, what);
      return;
    }
    const response = operation.responses[String(answer.status)];
    expect(response, `${what}: the status is not in the document`).to.not.equal(undefined);
    for (const [name, { required, schema }] of Object.entries(response!.headers ?? {})) {
      const value = answer.headers.get(name);
      expect(value !== null || !required, `${what} lacks the header ${name}`).to.equal(true);
      if (value !== null && (schema as { type?: string }).type === 'integer') expect(value, `${what}: ${name}`).to.match(/^\d+$/);
    }
    seen.operations.add(`${operation.operationId} ${answer.status}`);
    if (method === 'HEAD') return void expect(answer.text).to.equal('');
    if (response!.content === undefined) return void expect(answer.text, `${what} has a body`).to.equal('');
    const mediaType = Object.keys(response!.content).find((type) => answer.headers.get('content-type')?.startsWith(type));
    expect(mediaType, `${what} has the content type ${answer.headers.get('content-type')}`).to.not.equal(undefined);
    if (mediaType !== 'application/json') return;
    mustMatch(schemaAt(template, method, String(answer.status), mediaType), json, what);
    // The document lists the codes of a response as its examples.
    const { detail } = json as { detail?: unknown };
    if (typeof detail === 'string') expect(response!.content[mediaType]!.examples, what).to.have.property(detail);
  }

  function checkExamples(): number {
    let count = 0;
    for (const [path, operations] of Object.entries(document.paths))
      for (const [method, { responses }] of Object.entries(operations))
        for (const [status, { content = {} }] of Object.entries(responses))
          for (const [mediaType, { examples = {} }] of Object.entries(content))
            for (const [name, { value }] of Object.entries(examples)) {
              mustMatch(schemaAt(path, method, status, mediaType), value, `the example ${name} of ${method} ${path} → ${status}`);
              count += 1;
            }
    return count;
  }

  return {
    check,
    /** Checks every example of the document. @returns their number */
    checkExamples,
    /** Checks one event of a stream. */
    checkEvent(event: { event?: unknown }): void {
      const name = event.event === 'complete' ? 'CompleteEvent' : 'ProgressEvent';
      mustMatch(pointer('components', 'schemas', name), event, `event ${JSON.stringify(event.event)}`);
    },
  };
}
export type Contract = ReturnType<typeof createContract>;

/** Records the codes of an error body. */
export function recordErrors(json: unknown): void {
  const detail = (json as { detail?: unknown } | null)?.detail;
  if (typeof detail === 'string') seen.codes.add(detail);
  if (Array.isArray(detail)) for (const item of detail as { type: string }[]) seen.types.add(item.type);
}

/** Errors that have not occurred in any test. */
export function untestedErrors(): string[] {
  return [
    ...ERROR_CODES.filter((code) => !seen.codes.has(code)),
    ...VALIDATION_TYPES.filter((type) => !seen.types.has(type)).map((type) => `validation type ${type}`),
  ];
}
