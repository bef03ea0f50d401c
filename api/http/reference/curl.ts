/** A request of an operation as a command. Pure. */
import { examplesOf, jsonText, type OpenApi, type Operation } from './document.ts';

/** Quotes a text for a POSIX shell. */
const quoted = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`;

/** The address in double quotes, in which the shell replaces variables: `{scan_id}` is `$SCAN_ID`. */
const addressOf = ({ path }: Operation, base: string): string =>
  `"${base}${path.replaceAll(/\{(\w+)\}/g, (_, name: string) => `$${name.toUpperCase()}`)}"`;

/**
 * The command that sends an operation's request, with the example of its body. The API key and the parameters of the path are in the
 * environment.
 */
export function curlOf(operation: Operation, document: OpenApi): string {
  const { method, security = [], requestBody, responses } = operation;
  const [mediaType, content] = Object.entries(requestBody?.content ?? {})[0] ?? [];
  const [example] = content === undefined ? [] : examplesOf(content);
  const streams = Object.values(responses).some((response) => response.content?.['text/event-stream'] !== undefined);
  const options = [
    ...(security.length === 0 ? [] : ['-H "X-API-Key: $CURBCUT_API_KEY"']),
    ...(mediaType === undefined ? [] : [`-H ${quoted(`Content-Type: ${mediaType}`)}`]),
    ...(example === undefined ? [] : [`-d ${quoted(jsonText(example.value))}`]),
  ];
  // curl sends POST by itself if there is a body.
  const chosen = method === 'GET' || (method === 'POST' && example !== undefined) ? '' : `-X ${method} `;
  const start = `curl ${streams ? '-N ' : ''}${chosen}${addressOf(operation, document.servers[0].url)}`;
  return [start, ...options].join(' \\\n  ');
}
