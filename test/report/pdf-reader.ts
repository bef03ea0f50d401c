/** A small reader of PDF files, independent of their writer: objects, structure tree, and the text of each element. */
import { inflateSync } from 'node:zlib';

export class Name {
  readonly name: string;
  constructor(name: string) {
    this.name = name;
  }
}
export class Ref {
  readonly id: number;
  constructor(id: number) {
    this.id = id;
  }
}
export type Value = null | boolean | number | string | Name | Ref | Value[] | Dict;
export interface Dict {
  [key: string]: Value;
}

/** An element of the structure tree. */
export interface Tagged {
  type: string;
  dict: Dict;
  children: Tagged[];
  /** Its own text and its children's, as it is copied or read aloud. */
  text: string;
  annotations: Dict[];
}

const WHITE = /[\s\0]/;
const DELIMITER = /[\s\0()<>[\]{}/%]/;

/** Reads values one after the other; operators of content streams come as `{ operator }`. */
function* valuesOf(source: string): Generator<Value | { operator: string }> {
  let at = 0;
  const skip = (): void => {
    while (at < source.length && WHITE.test(source[at]!)) at += 1;
  };
  const literal = (): string => {
    let bytes = '';
    for (let depth = 1; ; at += 1) {
      const character = source[at];
      if (character === undefined) throw new Error('a string has no end');
      if (character === '\\') {
        at += 1;
        const escape = source[at]!;
        bytes += { n: '\n', r: '\r', t: '\t', b: '\b', f: '\f' }[escape] ?? escape;
        continue;
      }
      if (character === '(') depth += 1;
      if (character === ')' && (depth -= 1) === 0) break;
      bytes += character;
    }
    at += 1;
    return bytes.startsWith('þÿ') ? Buffer.from(bytes.slice(2), 'latin1').swap16().toString('utf16le') : bytes;
  };
  const read = (): Value | { operator: string } | undefined => {
    skip();
    const character = source[at];
    if (character === undefined) return undefined;
    if (source.startsWith('<<', at)) {
      at += 2;
      const dict: Dict = {};
      for (;;) {
        skip();
        if (source.startsWith('>>', at)) break;
        dict[(read() as Name).name] = read() as Value;
      }
      at += 2;
      return dict;
    }
    if (character === '[') {
      at += 1;
      const items: Value[] = [];
      for (skip(); source[at] !== ']'; skip()) items.push(read() as Value);
      at += 1;
      return items;
    }
    if (character === '(') {
      at += 1;
      return literal();
    }
    if (character === '<') {
      const end = source.indexOf('>', at);
      const hex = source.slice(at + 1, end);
      at = end + 1;
      return `<${hex}`;
    }
    let end = at + 1;
    while (end < source.length && !DELIMITER.test(source[end]!)) end += 1;
    const word = source.slice(at, end);
    at = end;
    if (character === '/')
      return new Name(word.slice(1).replace(/#([0-9A-Fa-f]{2})/g, (_, code: string) => String.fromCharCode(parseInt(code, 16))));
    if (/^[-+]?[\d.]+(e-?\d+)?$/.test(word)) {
      const reference = /^\s+\d+\s+R(?![A-Za-z])/.exec(source.slice(at, at + 16));
      if (reference !== null && /^\d+$/.test(word)) {
        at += reference[0].length;
        return new Ref(Number(word));
      }
      return Number(word);
    }
    if (word === 'true' || word === 'false') return word === 'true';
    if (word === 'null') return null;
    return { operator: word };
  };
  for (let value = read(); value !== undefined; value = read()) yield value;
}

/** The content of a file. */
export interface PdfFile {
  objects: Map<number, Value>;
  catalog: Dict;
  info: Dict;
  pages: Dict[];
  get(value: Value | undefined): Value;
  dict(value: Value | undefined): Dict;
  /** The root elements of the structure tree. */
  tree: Tagged[];
  /** Text that is neither in the tree nor an artifact; must be empty. */
  untagged: string;
  /** How often the glyph "not defined" is shown; must be 0. */
  undefinedGlyphs: number;
  metadata: string;
}

/** Reads a file as pdfkit writes it: every object at the top level, streams deflated or plain. */
export function readPdf(bytes: Uint8Array): PdfFile {
  const source = Buffer.from(bytes).toString('latin1');
  const objects = new Map<number, Value>();
  const streams = new Map<number, Buffer>();
  for (const match of source.matchAll(/(?:^|\n)(\d+) 0 obj\n/g)) {
    const start = match.index + match[0].length;
    const end = source.indexOf('\nendobj', start);
    const id = Number(match[1]);
    const value = valuesOf(source.slice(start, end)).next().value as Value;
    objects.set(id, value);
    const stream = source.indexOf('\nstream\n', start);
    if (stream >= 0 && stream < end) {
      const dict = value as Dict;
      const from = stream + '\nstream\n'.length;
      const raw = Buffer.from(source.slice(from, from + (dict['Length'] as number)), 'latin1');
      streams.set(id, (dict['Filter'] as Name | undefined)?.name === 'FlateDecode' ? inflateSync(raw) : raw);
    }
  }
  const get = (value: Value | undefined): Value => (value instanceof Ref ? (objects.get(value.id) ?? null) : (value ?? null));
  const dict = (value: Value | undefined): Dict => get(value) as Dict;
  const trailer = valuesOf(source.slice(source.lastIndexOf('trailer') + 'trailer'.length)).next().value as Dict;
  const catalog = dict(trailer['Root']);
  const pageRefs = dict(catalog['Pages'])['Kids'] as Ref[];

  const maps = new Map<number, Map<number, string>>();
  const unicodeOf = (font: Ref): Map<number, string> => {
    let map = maps.get(font.id);
    if (map === undefined) {
      map = new Map();
      const cmap = streams.get((dict(font)['ToUnicode'] as Ref).id)!.toString('latin1');
      for (const [, from = '', , list = ''] of cmap.matchAll(/<(\w+)> <(\w+)> \[([^\]]*)\]/g))
        for (const [index, [, hex = '']] of [...list.matchAll(/<([\w ]*)>/g)].entries())
          map.set(parseInt(from, 16) + index, Buffer.from(hex.replaceAll(' ', ''), 'hex').swap16().toString('utf16le'));
      maps.set(font.id, map);
    }
    return map;
  };

  let untagged = '';
  let undefinedGlyphs = 0;
  const contents = new Map<string, string>();
  for (const ref of pageRefs) {
    const page = dict(ref);
    const fonts = dict(dict(page['Resources'])['Font'] ?? null);
    const marks: { mcid: number | null; artifact: boolean; actual: string | null }[] = [];
    let operands: Value[] = [];
    let font: Ref | null = null;
    const say = (text: string): void => {
      const mcid = marks.findLast((mark) => mark.mcid !== null)?.mcid;
      if (mcid !== undefined) contents.set(`${ref.id} ${mcid}`, (contents.get(`${ref.id} ${mcid}`) ?? '') + text);
      else if (!marks.some((mark) => mark.artifact)) untagged += text;
    };
    for (const value of valuesOf(streams.get((page['Contents'] as Ref).id)!.toString('latin1'))) {
      if (value === null || typeof value !== 'object' || !('operator' in value)) {
        operands.push(value as Value);
        continue;
      }
      const { operator } = value as { operator: string };
      if (operator === 'BDC' || operator === 'BMC') {
        const options = (operator === 'BDC' ? operands[1] : {}) as Dict;
        marks.push({
          mcid: (options['MCID'] as number | undefined) ?? null,
          artifact: (operands[0] as Name).name === 'Artifact',
          actual: (options['ActualText'] as string | undefined) ?? null,
        });
      } else if (operator === 'EMC') {
        const { actual } = marks.pop()!;
        if (actual !== null) say(actual);
      } else if (operator === 'Tf') font = fonts[(operands[0] as Name).name] as Ref;
      else if (operator === 'Tj' || operator === 'TJ')
        for (const piece of [operands[0]].flat())
          if (typeof piece === 'string')
            for (const code of piece.slice(1).match(/.{4}/g) ?? []) {
              const glyph = parseInt(code, 16);
              if (glyph === 0) undefinedGlyphs += 1;
              if (!marks.some((mark) => mark.actual !== null)) say(unicodeOf(font!).get(glyph) ?? '\ufffd');
            }
      operands = [];
    }
  }

  const element = (ref: Value): Tagged => {
    const own = dict(ref);
    const tagged: Tagged = { type: (own['S'] as Name).name, dict: own, children: [], text: '', annotations: [] };
    for (const kid of [get(own['K'])].flat()) {
      if (typeof kid === 'number') tagged.text += contents.get(`${(own['Pg'] as Ref).id} ${kid}`) ?? '';
      else if (kid instanceof Ref) {
        const child = element(kid);
        tagged.children.push(child);
        tagged.text += child.text;
      } else if (kid !== null && typeof kid === 'object' && 'MCID' in kid)
        tagged.text += contents.get(`${(kid['Pg'] as Ref).id} ${kid['MCID'] as number}`) ?? '';
      else if (kid !== null && typeof kid === 'object' && 'Obj' in kid) tagged.annotations.push(dict(kid['Obj']));
    }
    return tagged;
  };
  const root = dict(catalog['StructTreeRoot']);
  return {
    objects,
    catalog,
    info: dict(trailer['Info']),
    pages: pageRefs.map((ref) => dict(ref)),
    get,
    dict,
    tree: [get(root['K'])].flat().map(element),
    untagged,
    undefinedGlyphs,
    metadata: streams.get((catalog['Metadata'] as Ref).id)!.toString('utf8'),
  };
}

/** All elements below some, in reading order, each before its children. */
export function allOf(elements: readonly Tagged[]): Tagged[] {
  return elements.flatMap((one) => [one, ...allOf(one.children)]);
}
