/** A request of an operation as a command. Pure. */
import { examplesOf, jsonText, type OpenApi, type Operation, type Parameter } from './document.ts';

/** Quotes a text for a POSIX shell. */
const quoted = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`;

/** The example of a parameter, or a variable of the shell: `scan_id` is `$SCAN_ID`. */
function valueOf({ name, example }: Parameter): string {
  if (example !== undefined) return encodeURIComponent(jsonText(example));
  return `$${name.toUpperCase().replace(/[^A-Z0-9]+/g, '_')}`;
}

/** The address in double quotes, in which the shell replaces variables. */
function addressOf({ path, parameters = [] }: Operation, base: string): string {
  const filled = parameters
    .filter((parameter) => parameter.in === 'path')
    .reduce((text, parameter) => text.replace(`{${parameter.name}}`, valueOf(parameter)), path);
  const query = parameters
    .filter((parameter) => parameter.in === 'query' && parameter.required === true)
    .map((parameter) => `${parameter.name}=${valueOf(parameter)}`);
  return `"${base}${filled}${query.length === 0 ? '' : `?${query.join('&')}`}"`;
}

/** The credential of the first way to authenticate. */
function credentialOf({ security = [] }: Operation, document: OpenApi): string[] {
  const [name] = Object.keys(security[0] ?? {});
  const scheme = name === undefined ? undefined : document.components?.securitySchemes?.[name];
  if (scheme?.type !== 'apiKey') return [];
  return scheme.in === 'header' ? [`-H "${scheme.name}: $CURBCUT_API_KEY"`] : [`-b "${scheme.name}=$CURBCUT_SESSION"`];
}

/**
 * The command that sends an operation's request: with the required parameters, and with the example of its body. The credential
 * is in the environment, and so is each required parameter without an example.
 */
export function curlOf(operation: Operation, document: OpenApi): string {
  const { method, parameters = [], requestBody, responses = {} } = operation;
  const [mediaType, content] = Object.entries(requestBody?.content ?? {})[0] ?? [];
  const [example] = content === undefined ? [] : examplesOf(content);
  const streams = Object.values(responses).some((response) => response.content?.['text/event-stream'] !== undefined);
  const options = [
    ...credentialOf(operation, document),
    ...parameters
      .filter((parameter) => parameter.in === 'header' && parameter.required === true)
      .map((parameter) => `-H "${parameter.name}: ${valueOf(parameter)}"`),
    ...(mediaType === undefined ? [] : [`-H ${quoted(`Content-Type: ${mediaType}`)}`]),
    ...(example === undefined ? [] : [`-d ${quoted(jsonText(example.value))}`]),
  ];
  // curl sends POST by itself if there is a body.
  const chosen = method === 'GET' || (method === 'POST' && example !== undefined) ? '' : `-X ${method} `;
  const start = `curl ${streams ? '-N ' : ''}${chosen}${addressOf(operation, document.servers?.[0]?.url ?? '')}`;
  return [start, ...options].join(' \\\n  ');
}
