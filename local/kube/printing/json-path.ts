/** The part of JSONPath that printed columns use: fields, indexes, `[*]` and filters by equality. */

type Step = (value: unknown) => unknown[];

const TOKEN = /\.([\w-]+(?:\\\.[\w-]+)*)|\[(\d+|\*|'[^']*')\]|\[\?\(@\.([\w.-]+)\s*(==|!=)\s*(?:"([^"]*)"|'([^']*)'|([\w.-]+))\)\]/y;

const fieldOf = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined;

function steps(path: string): Step[] {
  const found: Step[] = [];
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < path.length) {
    const at = TOKEN.lastIndex;
    const match = TOKEN.exec(path);
    if (match === null) throw new Error(`the JSONPath ${path} is not supported from here: ${path.slice(at)}`);
    const [, field, index, filtered, operator, ...literals] = match;
    if (field !== undefined) found.push((value) => [fieldOf(value, field.replace(/\\\./g, '.'))]);
    else if (index === '*') found.push((value) => (Array.isArray(value) ? value : Object.values(value ?? {})));
    else if (index?.startsWith("'") === true) found.push((value) => [fieldOf(value, index.slice(1, -1))]);
    else if (index !== undefined) found.push((value) => (Array.isArray(value) ? [value[Number(index)]] : []));
    else {
      const wanted = literals.find((literal) => literal !== undefined);
      const read = (item: unknown): unknown => (filtered ?? '').split('.').reduce(fieldOf, item);
      found.push((value) => (Array.isArray(value) ? value.filter((item) => (String(read(item)) === wanted) === (operator === '==')) : []));
    }
  }
  return found;
}

/** Compiles a path. The result returns the first value, or undefined. @throws Error if the path is not supported */
export function jsonPath(path: string): (object: unknown) => unknown {
  const all = steps(path.replace(/^\{|\}$/g, ''));
  return (object) => all.reduce<unknown[]>((values, step) => values.flatMap(step).filter((value) => value !== undefined), [object])[0];
}
