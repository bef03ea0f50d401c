/** The API models of `@kubernetes/client-node` as they are in JSON. Only types: importing this file loads nothing. */
import type { KubernetesObject } from '../../core/protocol/custom-resources.ts';

/** A model as the API server sends and receives it: times are RFC 3339 strings, where the model has Dates. */
export type Wire<T> = T extends Date
  ? string
  : T extends readonly (infer Item)[]
    ? Wire<Item>[]
    : T extends object
      ? { [Field in keyof T]: Wire<T[Field]> }
      : T;

/** A whole object of a model. Its kind and metadata are not optional, as they are in the models. */
export type ObjectOf<Model> = KubernetesObject & Omit<Wire<Model>, keyof KubernetesObject>;
