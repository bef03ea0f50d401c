/** The hooks that open and close. Default: once per suite. */
export type Hooks = [first: typeof beforeEach, last: typeof afterEach] | [];

/**
 * Opens something before the tests of a suite, and closes it after them.
 * @returns an object that has its members while the tests run
 */
export function opened<T extends { close(): Promise<unknown> }>(open: () => Promise<T>, ...[first = before, last = after]: Hooks): T {
  const resource = {} as T;
  first(async () => void Object.assign(resource, await open()));
  last(() => resource.close?.());
  return resource;
}
