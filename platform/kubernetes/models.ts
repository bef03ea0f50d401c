/** The API models of `@kubernetes/client-node` in their JSON form. This file contains only types. */
import type { KubernetesObject } from '../../core/protocol/custom-resources.ts';

/** A model as the API server sends and receives it: times are RFC 3339 strings instead of Dates. */
export type Wire<T> = T extends Date
  ? string
  : T extends readonly (infer Item)[]
    ? Wire<Item>[]
    : T extends object
      ? { [Field in keyof T]: Wire<T[Field]> }
      : T;

/** A complete object of a model. The kind and metadata, which the models declare as optional, are required. */
export type ObjectOf<Model> = KubernetesObject & Omit<Wire<Model>, keyof KubernetesObject>;
