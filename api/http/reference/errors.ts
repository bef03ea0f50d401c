/** The errors of the document: which code has which message and body, and which operations answer with it. Pure. */
import { ERROR_CODES, ERRORS } from '../errors.ts';
import { examplesOf, jsonText, operationsOf, type OpenApi, type Operation, type Response } from './document.ts';

export const errorAnchor = (code: string): string => `error-${code}`;

interface ErrorExample {
  /** Null for the list of errors of an invalid request. */
  code: string | null;
  message: string | null;
  /** The body as JSON. */
  body: string;
}

function errorExample(value: unknown): ErrorExample | null {
  const { detail, message } = (value ?? {}) as { detail?: unknown; message?: unknown };
  if (typeof detail !== 'string' && !Array.isArray(detail)) return null;
  return {
    code: typeof detail === 'string' ? detail : null,
    message: typeof message === 'string' ? message : null,
    body: jsonText(value),
  };
}

/** The errors that a response answers with; null if the response is not an error, or has other bodies too. */
export function errorsOf(status: string, { content = {} }: Response): ErrorExample[] | null {
  const examples = Object.values(content).flatMap(examplesOf);
  const errors = examples.map(({ value }) => errorExample(value)).filter((error) => error !== null);
  return status >= '400' && errors.length > 0 && errors.length === examples.length ? errors : null;
}

export interface ErrorEntry {
  code: string;
  status: number;
  message: string;
  /** Each different body of the document. */
  bodies: readonly string[];
  operations: readonly Operation[];
}

/** Every error code by status: those of the document's operations, and those that any request may get. */
export function errorEntries(document: OpenApi): ErrorEntry[] {
  const found = operationsOf(document).flatMap((operation) =>
    Object.entries(operation.responses).flatMap(([status, response]) =>
      (errorsOf(status, response) ?? []).map((error) => ({ ...error, operation })),
    ),
  );
  const byCode = Map.groupBy(found, ({ code }) => code);
  return ERROR_CODES.map((code) => {
    const uses = byCode.get(code) ?? [];
    const { status, message } = ERRORS[code];
    return { code, status, message, bodies: [...new Set(uses.map(({ body }) => body))], operations: uses.map((use) => use.operation) };
  }).sort((one, other) => one.status - other.status);
}
