/** Checks a call of curl against the OpenAPI document: the path, the method and the body. */
import { Ajv2020, type AnySchema } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';

export interface Document {
  paths: Record<string, Record<string, { requestBody?: { content: Record<string, { schema: AnySchema }> } }>>;
  components: object;
}

const VALUES = ['-H', '-d', '-o', '-r', '-X', '-sSfo', '--data'];

/** Returns what is wrong with the request, or null. Requests to other addresses are not ours. */
export function problemOfRequest(args: readonly string[], { paths, components }: Document, service: string): string | null {
  let method: string | null = null;
  let body: string | null = null;
  let address: string | null = null;
  for (let at = 0; at < args.length; at += 1) {
    const word = args[at]!;
    if (word === '-X') method = args[at + 1]!.toLowerCase();
    if (word === '-d' || word === '--data') body = args[at + 1]!;
    if (VALUES.includes(word)) at += 1;
    else if (!word.startsWith('-')) address = word;
  }
  if (address === null) return 'curl has no address';
  if (!address.startsWith(service)) return null;
  const path = new URL(address).pathname;
  const known = Object.keys(paths).find((one) => new RegExp(`^${one.replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(path));
  const operation = known === undefined ? undefined : paths[known]![method ?? (body === null ? 'get' : 'post')];
  if (operation === undefined) return `the API has no ${method ?? ''} ${path}`;
  const schema = operation.requestBody?.content['application/json']?.schema;
  if (body === null || schema === undefined) return body === null ? null : `${path} takes no body`;
  return problemOfBody(JSON.parse(body), schema, components);
}

export function problemOfBody(body: unknown, schema: AnySchema, components: object): string | null {
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  addFormats.default(ajv);
  const validate = ajv.compile({ ...(schema as object), components });
  return validate(body) ? null : ajv.errorsText(validate.errors);
}
