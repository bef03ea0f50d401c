/** Query parameters that are objects. They are sent as `NAME.KEY=VALUE`, and validated as one object. */
import type { preValidationHookHandler } from 'fastify';

/**
 * Collects the parameters `NAME.KEY` of a request as the fields of `NAME`, before the validation. A parameter `NAME` without a key stays
 * as it is, so that the validation rejects it.
 */
export function spreadQuery(name: string): preValidationHookHandler {
  const prefix = `${name}.`;
  return (request, _reply, done) => {
    const entries = Object.entries(request.query as Record<string, unknown>);
    const spread = entries.filter(([key]) => key.startsWith(prefix)).map(([key, value]) => [key.slice(prefix.length), value] as const);
    if (spread.length > 0)
      request.query = { [name]: Object.fromEntries(spread), ...Object.fromEntries(entries.filter(([key]) => !key.startsWith(prefix))) };
    done();
  };
}

/** The parts of an OpenAPI parameter that this changes. */
export interface QueryParameter {
  name: string;
  in: string;
  style?: string;
  explode?: boolean;
  schema?: { default?: unknown; type?: unknown; propertyNames?: unknown };
}

/** Describes such a parameter for OpenAPI, which knows no dots: an object whose keys have the prefix, sent as separate parameters. */
export function describeSpreadQuery(parameter: QueryParameter): void {
  if (parameter.in !== 'query' || parameter.schema?.type !== 'object') return;
  parameter.style = 'form';
  parameter.explode = true;
  parameter.schema = { ...parameter.schema, propertyNames: { pattern: `^${parameter.name}\\.` } };
}
