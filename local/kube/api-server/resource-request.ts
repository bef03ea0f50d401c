/** A request on a resource, and its answer. */
import type { Registry } from '../registry/registry.ts';
import type { Store } from '../storage/store.ts';
import type { Json, Resource } from '../types.ts';

/** A request whose path named a resource. */
export interface ResourceRequest {
  resource: Resource;
  namespace: string;
  /** Empty for the collection. */
  name: string;
  subresource: string;
  query: URLSearchParams;
}

export interface Answer {
  code: number;
  body: Json;
  warnings: string[];
}

export interface RequestDeps {
  store: Store;
  objects: Registry;
  now: () => Date;
}
