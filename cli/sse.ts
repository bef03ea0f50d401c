/** Server-sent events as the HTML standard defines them, as far as the service uses them: `id`, `data` and comments. */

export interface ServerEvent {
  id: string | null;
  data: string;
}

/** The longest event that is taken, in characters: whoever sends more is no Curbcut. */
const EVENT_MAX = 1024 * 1024;

/**
 * Reads events from a stream of text. Whatever comes, comments too, calls `onLife`.
 * @throws RangeError where an event does not end
 */
export async function* readEvents(chunks: AsyncIterable<Uint8Array>, onLife: () => void = () => {}): AsyncGenerator<ServerEvent> {
  const decoder = new TextDecoder();
  let buffer = '';
  let id: string | null = null;
  let data: string[] = [];
  for await (const chunk of chunks) {
    onLife();
    buffer += decoder.decode(chunk, { stream: true });
    // A carriage return at the end may be the first half of a line's end.
    const held = buffer.endsWith('\r') ? '\r' : '';
    const lines = buffer.slice(0, buffer.length - held.length).split(/\r\n|\n|\r/);
    buffer = lines.pop()! + held;
    if (buffer.length + data.reduce((sum, line) => sum + line.length, 0) > EVENT_MAX) throw new RangeError('an event is too long');
    for (const line of lines) {
      if (line === '') {
        if (data.length > 0) yield { id, data: data.join('\n') };
        data = [];
        continue;
      }
      const [, field = '', value = ''] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? [];
      if (field === 'data') data.push(value);
      else if (field === 'id' && !value.includes('\0')) id = value;
    }
  }
}
