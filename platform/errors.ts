/** The message of whatever was thrown: JavaScript allows any value. */
export function errorMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
