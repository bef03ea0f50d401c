/** The API server's errors: `Status` objects with the messages of the real server. */
import type { Json, JsonObject } from './types.ts';

/** One entry of `details.causes`. */
export interface Cause {
  reason: string;
  message: string;
  field: string;
}

/** How errors name a resource. */
interface Named {
  group: string;
  plural: string;
  kind: string;
}

/** An error response; `body` is its `Status` object. */
export class StatusError extends Error {
  readonly code: number;
  readonly reason: string;
  readonly details: JsonObject | undefined;
  constructor(code: number, reason: string, message: string, details?: JsonObject) {
    super(message);
    this.name = 'StatusError';
    this.code = code;
    this.reason = reason;
    this.details = details;
  }
  get body(): JsonObject {
    return {
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message: this.message,
      ...(this.reason === '' ? {} : { reason: this.reason }),
      ...(this.details === undefined ? {} : { details: this.details }),
      code: this.code,
    };
  }
}

const qualified = (of: Named): string => (of.group === '' ? of.plural : `${of.plural}.${of.group}`);
const detailsOf = (of: Named, name: string, kind = of.plural): JsonObject => ({
  ...(name === '' ? {} : { name }),
  ...(of.group === '' ? {} : { group: of.group }),
  kind,
});

export const badRequest = (message: string): StatusError => new StatusError(400, 'BadRequest', message);

export const notFound = (of: Named, name: string): StatusError =>
  new StatusError(404, 'NotFound', `${qualified(of)} "${name}" not found`, detailsOf(of, name));

export const noSuchResource = (): StatusError => new StatusError(404, 'NotFound', 'the server could not find the requested resource', {});

export const methodNotAllowed = (): StatusError =>
  new StatusError(405, 'MethodNotAllowed', 'the server does not allow this method on the requested resource', {});

export const alreadyExists = (of: Named, name: string): StatusError =>
  new StatusError(409, 'AlreadyExists', `${qualified(of)} "${name}" already exists`, detailsOf(of, name));

export const conflict = (of: Named, name: string, why?: string): StatusError =>
  new StatusError(
    409,
    'Conflict',
    `Operation cannot be fulfilled on ${qualified(of)} "${name}": ${
      why ?? 'the object has been modified; please apply your changes to the latest version and try again'
    }`,
    detailsOf(of, name),
  );

/** A failed precondition of a DELETE. The real server names the kind here, not the plural. */
export const preconditionFailed = (of: Named, name: string, why: string): StatusError =>
  new StatusError(
    409,
    'Conflict',
    `Operation cannot be fulfilled on ${of.kind}${of.group === '' ? '' : `.${of.group}`} "${name}": ${why}`,
    detailsOf(of, name, of.kind),
  );

export const forbidden = (of: Named, name: string, why: string): StatusError =>
  new StatusError(403, 'Forbidden', `${qualified(of)}${name === '' ? '' : ` "${name}"`} is forbidden: ${why}`, detailsOf(of, name));

export const internalError = (message: string): StatusError =>
  new StatusError(500, 'InternalError', `Internal error occurred: ${message}`, { causes: [{ message }] });

export const expired = (message: string): StatusError => new StatusError(410, 'Expired', message);

export const unsupportedMediaType = (accepted: readonly string[]): StatusError =>
  new StatusError(
    415,
    'UnsupportedMediaType',
    `the body of the request was in an unknown format - accepted media types include: ${accepted.join(', ')}`,
  );

/** 422 with all causes, in the order in which they were found. */
export function invalid(of: Named, name: string, causes: readonly Cause[]): StatusError {
  const lines = causes.map((cause) => `${cause.field}: ${cause.message}`);
  const text = lines.length === 1 ? (lines[0] ?? '') : `[${lines.join(', ')}]`;
  const kind = of.group === '' ? of.kind : `${of.kind}.${of.group}`;
  return new StatusError(422, 'Invalid', `${kind} "${name}" is invalid: ${text}`, {
    ...detailsOf(of, name, of.kind),
    causes: causes.map((cause) => ({ reason: cause.reason, message: cause.message, field: cause.field })),
  });
}

/** Formats a value for a message: as JSON, `null` if it is missing. */
export const shown = (value: Json | undefined): string => JSON.stringify(value ?? null);

export const invalidValue = (field: string, value: Json | undefined, why: string): Cause => ({
  reason: 'FieldValueInvalid',
  message: `Invalid value: ${shown(value)}: ${why}`,
  field,
});
export const requiredValue = (field: string, why = ''): Cause => ({
  reason: 'FieldValueRequired',
  message: why === '' ? 'Required value' : `Required value: ${why}`,
  field,
});
export const forbiddenValue = (field: string, why: string): Cause => ({
  reason: 'FieldValueForbidden',
  message: `Forbidden: ${why}`,
  field,
});
