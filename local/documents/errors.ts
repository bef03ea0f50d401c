/** Errors of the document store, with MongoDB's codes and names. */

const NAMES: Readonly<Record<number, string>> = {
  2: 'BadValue',
  9: 'FailedToParse',
  14: 'TypeMismatch',
  20: 'IllegalOperation',
  26: 'NamespaceNotFound',
  28: 'PathNotViable',
  40: 'ConflictingUpdateOperators',
  43: 'CursorNotFound',
  59: 'CommandNotFound',
  66: 'ImmutableField',
  67: 'CannotCreateIndex',
  72: 'InvalidOptions',
  73: 'InvalidNamespace',
  85: 'IndexOptionsConflict',
  86: 'IndexKeySpecsConflict',
  115: 'CommandNotSupported',
  168: 'InvalidPipelineOperator',
  10107: 'NotWritablePrimary',
  10334: 'BSONObjectTooLarge',
  11000: 'DuplicateKey',
};

/** An error that is sent to the client. */
export class CommandError extends Error {
  readonly code: number;
  readonly codeName: string;
  /** Further fields of the response, such as the duplicate key. */
  readonly details: Record<string, unknown>;
  constructor(code: number, message: string, details: Record<string, unknown> = {}) {
    super(message);
    this.name = 'CommandError';
    this.code = code;
    this.codeName = NAMES[code] ?? `Location${code}`;
    this.details = details;
  }
}
