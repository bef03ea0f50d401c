/** The OpenAPI document and the JSON Schema of reports. */
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { expect } from 'chai';
import { ERROR_CODES } from '../../api/http/errors.ts';
import { useContext, SUBMISSION } from './context.ts';

interface Operation {
  operationId: string;
  security?: unknown;
  responses: Record<string, { content?: Record<string, { schema: object; examples?: object }> }>;
}

const operationsOf = ({ paths }: { paths: Record<string, Record<string, Operation>> }) =>
  Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, ...operation })),
  );

describe('OpenAPI document', () => {
  const context = useContext();

  it('is 3.1, and gives every operation a unique ID and its authentication', async () => {
    const { status, body } = await context.request('GET', '/openapi.json');
    expect(status).to.equal(200);
    expect(body).to.deep.include({ openapi: '3.1.0', servers: [{ url: 'https://curbcut.example' }] });
    expect(body.components.securitySchemes.apiKey).to.include({ type: 'apiKey', in: 'header', name: 'X-API-Key' });
    const operations = operationsOf(body);
    expect(new Set(operations.map(({ operationId }) => operationId)).size).to.equal(operations.length);
    for (const { path, security, responses } of operations) {
      const needsKey = path.startsWith('/v1/') && !path.startsWith('/v1/public/');
      expect(security !== undefined, path).to.equal(needsKey);
      if (needsKey) expect(Object.keys(responses)).to.include.members(['401', '403', '429', '503']);
    }
  });

  it('has plain enums, no artefacts of its generation, and only valid references', async () => {
    const { text, body } = await context.request('GET', '/openapi.json');
    expect(text).to.not.match(/"def-\d|"const":|"\$id"|"anyOf":\[\{"type":"string","enum":\["[^"]*"\]\}/);
    for (const [, name] of text.matchAll(/"#\/components\/schemas\/(\w+)"/g)) expect(body.components.schemas).to.have.property(name!);
    expect(body.components.schemas.Error.properties.detail['x-extensible-enum']).to.deep.equal(ERROR_CODES);
    expect(body.components.schemas.ScanResult.properties.score.type).to.deep.equal(['number', 'null']);
    const headers = body.paths['/v1/ci/scans'].post.responses['202'].headers;
    expect(headers.Location).to.deep.include({ required: true, schema: { type: 'string' } });
    expect(body.components.schemas.ScanSubmission.properties.max_pages).to.deep.include({
      type: 'integer',
      minimum: 1,
      maximum: 500,
      default: 5,
    });
  });

  it('names the schemas of request bodies, of errors and of the events of the stream', async () => {
    const { body } = await context.request('GET', '/openapi.json');
    const schemaOf = (content: Record<string, { schema: object }>) => Object.values(content)[0]!.schema;
    const named = (name: string) => ({ $ref: `#/components/schemas/${name}` });
    expect(schemaOf(body.paths['/v1/ci/scans'].post.requestBody.content)).to.deep.equal(named('ScanSubmission'));
    expect(schemaOf(body.paths['/v1/api-keys'].post.requestBody.content)).to.deep.equal(named('NewKey'));
    expect(schemaOf(body.paths['/v1/ci/scans/{scan_id}/events'].get.responses['200'].content)).to.deep.equal({
      anyOf: [named('ProgressEvent'), named('CompleteEvent')],
    });
    const errors = ['Error', 'InsufficientCredits', 'ValidationError'].map(named);
    for (const { path, responses } of operationsOf(body))
      for (const [status, response] of Object.entries(responses))
        // The verdict of a poll is 422 too, and an instance that is not ready is no error.
        if (status >= '400' && !['/v1/ci/scans/{scan_id} 422', '/readyz 503'].includes(`${path} ${status}`))
          expect(errors, `${path} ${status}`).to.deep.include(schemaOf(response.content!));
  });

  it('leaves the objects and enumerations of responses open', async () => {
    const { body } = await context.request('GET', '/openapi.json');
    const closed: string[] = [];
    const visit = (node: unknown, path: string): void => {
      if (typeof node !== 'object' || node === null) return;
      const { additionalProperties, enum: values } = node as { additionalProperties?: unknown; enum?: unknown[] };
      // A field with a single value tells variants apart.
      if (additionalProperties === false || (values !== undefined && values.length > 1)) closed.push(path);
      for (const [name, value] of Object.entries(node)) visit(value, `${path}/${name}`);
    };
    for (const { path, method, responses } of operationsOf(body)) visit(responses, `${method} ${path}`);
    const requests = [
      'ScanSubmission',
      'PublicScanSubmission',
      'NewKey',
      'NewWebhook',
      'WebhookChange',
      'SecretRotation',
      'NewKnownIssue',
      'KnownIssueChange',
      'NewSchedule',
      'ScheduleChange',
    ];
    for (const [name, schema] of Object.entries(body.components.schemas)) if (!requests.includes(name)) visit(schema, name);
    expect(closed).to.deep.equal([]);
    for (const name of requests) expect(body.components.schemas[name], name).to.include({ additionalProperties: false });
  });

  it('has examples that match their schemas: one for each error code, and one for each successful response of the versioned API', async () => {
    const { body } = await context.request('GET', '/openapi.json');
    expect(context.contract.checkExamples()).to.be.greaterThan(80);
    for (const { path, method, responses } of operationsOf(body)) {
      if (!path.startsWith('/v1/')) continue;
      for (const [status, { content }] of Object.entries(responses))
        if (content !== undefined) expect(Object.values(content)[0]!.examples, `${method} ${path} ${status}`).to.not.equal(undefined);
    }
  });

  it('states the configured maximum number of pages', async () => {
    const small = await context.replica({ maxPagesLimit: 3 });
    expect(small.document.components.schemas.ScanSubmission).to.have.nested.property('properties.max_pages.maximum', 3);
    const { key } = await context.organisation({ credits: 9 });
    expect((await small.request('POST', '/v1/ci/scans', { key, body: { ...SUBMISSION, max_pages: 4 } })).status).to.equal(422);
    expect((await small.request('POST', '/v1/ci/scans', { key, body: SUBMISSION })).body.pages_requested).to.equal(3);
  });

  it('requires no parameter that has a default', async () => {
    const { body } = await context.request('GET', '/openapi.json');
    const defaulted = Object.values(body.paths as Record<string, Record<string, { parameters?: { required: boolean; schema: object }[] }>>)
      .flatMap((methods) => Object.values(methods).flatMap(({ parameters = [] }) => parameters))
      .filter(({ schema }) => 'default' in schema);
    expect(defaulted).to.not.have.lengthOf(0);
    expect(defaulted.filter(({ required }) => required)).to.deep.equal([]);
  });

  it('is beside a JSON Schema that rejects an incomplete report', async () => {
    const { body } = await context.request('GET', '/schemas/report-v1.json');
    expect(body.$schema).to.equal('https://json-schema.org/draft/2020-12/schema');
    const validate = addFormats.default(new Ajv2020({ strict: false })).compile(body);
    expect(validate({ schema_version: 1 })).to.equal(false);
    expect(validate.errors?.[0]?.keyword).to.equal('required');
  });
});
