/**
 * Opens something before the tests of a suite, and closes it after them.
 * @returns an object that has its members while the tests run
 */
export function opened<T extends { close(): Promise<unknown> }>(open: () => Promise<T>): T {
  const resource = {} as T;
  before(async () => void Object.assign(resource, await open()));
  after(() => resource.close?.());
  return resource;
}
