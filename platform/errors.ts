/** The message of a thrown value. JavaScript can throw any value, not only an Error. */
export function errorMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
