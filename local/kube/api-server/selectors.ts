/** Parses label and field selectors to predicates. */
import { badRequest } from '../status.ts';
import type { KubeObject, Resource } from '../types.ts';

export type Matches = (object: KubeObject) => boolean;

const REQUIREMENT = /^\s*(!?)\s*([A-Za-z0-9][\w./-]*)\s*(?:(==|=|!=)\s*([\w.-]*)|\s(in|notin)\s*\(([^)]*)\))?\s*$/;

/** Splits at commas outside parentheses. */
function splitRequirements(selector: string): string[] {
  return selector.split(/,(?![^(]*\))/).filter((part) => part.trim() !== '');
}

function labelRequirement(text: string): (labels: Record<string, string>) => boolean {
  const match = REQUIREMENT.exec(text.replace(/(\s)(in|notin)\(/, '$1$2 ('));
  if (match === null) {
    const wrong = /(?:==|!=|=)([=!<>])/.exec(text)?.[1] ?? text.trim();
    throw badRequest(`unable to parse requirement: found '${wrong}', expected: identifier`);
  }
  const [, not, key = '', operator, value = '', set, list = ''] = match;
  if (operator === undefined && set === undefined) return not === '!' ? (labels) => !(key in labels) : (labels) => key in labels;
  if (set !== undefined) {
    const values = new Set(list.split(',').map((item) => item.trim()));
    return set === 'in'
      ? (labels) => labels[key] !== undefined && values.has(labels[key])
      : (labels) => labels[key] === undefined || !values.has(labels[key]);
  }
  if (operator === '!=') return (labels) => labels[key] !== value;
  return (labels) => labels[key] === value;
}

/** `a=b,c!=d,e in (f,g),!h`. @throws StatusError 400 */
export function labelSelector(selector: string): Matches {
  const requirements = splitRequirements(selector).map(labelRequirement);
  return (object) => requirements.every((holds) => holds(object.metadata.labels ?? {}));
}

/** `metadata.name=x,status.phase!=y`; only supported fields. @throws StatusError 400 */
export function fieldSelector(selector: string, resource: Resource): Matches {
  const known: Record<string, (object: KubeObject) => string> = {
    'metadata.name': (object) => object.metadata.name,
    ...(resource.namespaced || !resource.custom ? { 'metadata.namespace': (object: KubeObject) => object.metadata.namespace ?? '' } : {}),
    ...resource.fields,
  };
  const requirements = selector
    .split(',')
    .filter((part) => part !== '')
    .map((part) => {
      const match = /^([^=!]+)(==|!=|=)(.*)$/.exec(part);
      if (match === null) throw badRequest(`invalid selector: '${selector}'; can't understand '${part}'`);
      const [, field = '', operator, value = ''] = match;
      const read = known[field];
      if (read === undefined) throw badRequest(unknownField(field, resource, Object.keys(known)));
      return operator === '!=' ? (object: KubeObject) => read(object) !== value : (object: KubeObject) => read(object) === value;
    });
  return (object) => requirements.every((holds) => holds(object));
}

function unknownField(field: string, resource: Resource, known: string[]): string {
  if (resource.custom) return `field label not supported: ${field}`;
  if (Object.keys(resource.fields).length > 0) return `field label not supported: ${field}`;
  return `"${field}" is not a known field selector: only ${known.map((name) => `"${name}"`).join(', ')}`;
}
