/** The XML documents that the object store writes, and the one that it reads. */
import { XMLParser } from 'fast-xml-parser';
import { S3Error } from './errors.ts';

/** An element's content: text, elements, or several elements with the same name. */
export type Content = string | number | boolean | { [name: string]: Content | Content[] };

const NAMESPACE = 'http://s3.amazonaws.com/doc/2006-03-01/';

/** Writes a document with one root element. */
export function document(root: string, content: Content, namespace = true): string {
  return `<?xml version="1.0" encoding="UTF-8"?>\n<${root}${namespace ? ` xmlns="${NAMESPACE}"` : ''}>${inner(content)}</${root}>`;
}

function inner(content: Content): string {
  if (typeof content !== 'object') return escape(String(content));
  return Object.entries(content)
    .flatMap(([name, value]) => (Array.isArray(value) ? value : [value]).map((item) => `<${name}>${inner(item)}</${name}>`))
    .join('');
}

/** Escapes text for XML 1.0. For characters that XML cannot represent, clients use `encoding-type=url`. */
function escape(text: string): string {
  return text.replace(
    /[&<>"'\r]|[^\t\n\u0020-\uD7FF\uD800-\uDFFF\uE000-\uFFFD]/g,
    (character) => `&#x${character.charCodeAt(0).toString(16).toUpperCase()};`,
  );
}

/** The keys of a request to delete several objects. @throws S3Error */
export function keysToDelete(body: string): { keys: string[]; quiet: boolean } {
  const parser = new XMLParser({ processEntities: true, parseTagValue: false, trimValues: false, isArray: (name) => name === 'Object' });
  let parsed: { Delete?: { Object?: { Key?: string; VersionId?: string }[]; Quiet?: string } };
  try {
    parsed = parser.parse(body, true) as typeof parsed;
  } catch {
    throw new S3Error('MalformedXML', 'The request body is not well-formed XML.');
  }
  const objects = parsed.Delete?.Object;
  if (objects === undefined || objects.length === 0 || objects.length > 1000)
    throw new S3Error('MalformedXML', 'The request body must name 1 to 1000 objects.');
  const keys = objects.map(({ Key, VersionId }) => {
    if (VersionId !== undefined) throw new S3Error('NotImplemented', 'Versions are not supported by the embedded object store.');
    if (typeof Key !== 'string' || Key === '') throw new S3Error('MalformedXML', 'An object to delete has no key.');
    return Key;
  });
  return { keys, quiet: parsed.Delete?.Quiet === 'true' };
}
