/** Reads the JSON objects that kubectl prints one after the other, in lines or not. */

/** Maximum length of an object. Kubernetes stores at most 1.5 MiB, which kubectl prints with indentation. */
const OBJECT_MAX = 16 * 1024 * 1024;

/**
 * Yields each object as soon as it is complete.
 * @throws RangeError if an object is longer than 16 MiB @throws SyntaxError if the text is not JSON
 */
export async function* readObjects(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<unknown> {
  const decoder = new TextDecoder();
  let text = '';
  let depth = 0;
  let start = 0;
  let inString = false;
  let escaped = false;
  for await (const chunk of chunks) {
    const from = text.length;
    text += decoder.decode(chunk, { stream: true });
    for (let index = from; index < text.length; index += 1) {
      const character = text[index];
      if (inString) {
        if (escaped) escaped = false;
        else if (character === '\\') escaped = true;
        else if (character === '"') inString = false;
      } else if (character === '"') inString = true;
      else if (character === '{') depth += 1;
      else if (character === '}') {
        depth -= 1;
        if (depth > 0) continue;
        yield JSON.parse(text.slice(start, index + 1));
        start = index + 1;
      }
    }
    text = text.slice(start);
    start = 0;
    if (text.length > OBJECT_MAX) throw new RangeError('an object is too long');
  }
}
