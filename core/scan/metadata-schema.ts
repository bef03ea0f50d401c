/** The JSON schema of metadata: of the HTTP API, the pod's input and the JSON export. */
import { Type, type TSchema } from 'typebox';
import {
  METADATA_KEY,
  METADATA_MAX,
  METADATA_VALUE,
  METADATA_VALUE_MAX,
  WELL_KNOWN_METADATA,
  type Metadata as MetadataPairs,
} from './metadata.ts';

const Value: TSchema = Type.String({ minLength: 1, maxLength: METADATA_VALUE_MAX, pattern: METADATA_VALUE });

export type Metadata = MetadataPairs;
export const Metadata = Type.Unsafe<MetadataPairs>({
  type: 'object',
  maxProperties: METADATA_MAX,
  propertyNames: { pattern: METADATA_KEY },
  additionalProperties: Value,
  description:
    `Pairs of key and value about what is scanned, at most ${METADATA_MAX}. Well-known keys are ` +
    `${Object.keys(WELL_KNOWN_METADATA).join(', ')}. Keys have the syntax of the keys of Kubernetes labels without a prefix. ` +
    `Values are printable text of at most ${METADATA_VALUE_MAX} characters, because names of branches have slashes.`,
});
