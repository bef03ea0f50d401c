/** The XML documents that the object store writes. */

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

/** Escapes text for XML 1.0. */
function escape(text: string): string {
  return text.replace(
    /[&<>"'\r]|[^\t\n\u0020-\uD7FF\uD800-\uDFFF\uE000-\uFFFD]/g,
    (character) => `&#x${character.charCodeAt(0).toString(16).toUpperCase()};`,
  );
}
