/** A custom resource that uses every schema feature. */
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export const GROUP = 'semantics.curbcut.test';
const PLURAL = 'widgets';

const ruled = (maxLength: number, rule: string, message?: string) => ({
  type: 'string',
  maxLength,
  'x-kubernetes-validations': [{ rule, message }],
});

/** Fields whose rules call functions. */
const FUNCTIONS = {
  type: 'object',
  properties: {
    zone: ruled(40, "timestamp('2000-01-01T00:00:00Z').getHours(self) >= 0", 'zone must be known'),
    every: ruled(40, "duration(self) >= duration('1m')", 'every must be at least 1m'),
    numbers: ruled(40, "self.lowerAscii().replace('one', '1').findAll('[0-9]+').all(number, int(number) > 0)"),
    sizes: {
      type: 'object',
      maxProperties: 4,
      additionalProperties: ruled(40, "isQuantity(self) && quantity(self).compareTo(quantity('0')) >= 0", 'sizes must be quantities'),
    },
  },
};

export const DEFINITION = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `${PLURAL}.${GROUP}` },
  spec: {
    group: GROUP,
    scope: 'Namespaced',
    names: { plural: PLURAL, singular: 'widget', kind: 'Widget', shortNames: ['wdg'], categories: ['trial'] },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        subresources: { status: {} },
        additionalPrinterColumns: [
          { name: 'URL', type: 'string', jsonPath: '.spec.url', description: 'Where it is.' },
          { name: 'Phase', type: 'string', jsonPath: '.status.phase' },
          { name: 'Pages', type: 'integer', jsonPath: '.spec.pages' },
          { name: 'Ready', type: 'string', jsonPath: '.status.conditions[?(@.type=="Ready")].status', priority: 1 },
          { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
        ],
        schema: {
          openAPIV3Schema: {
            type: 'object',
            description: 'A thing to try things on.',
            required: ['metadata', 'spec'],
            properties: {
              spec: {
                type: 'object',
                description: 'What is wanted.',
                required: ['url'],
                'x-kubernetes-validations': [
                  { rule: 'self.url == oldSelf.url', message: 'url cannot be changed' },
                  {
                    rule: "!has(self.level) || self.level != 'AAA' || self.pages < 10",
                    message: 'AAA is for few pages',
                    fieldPath: '.pages',
                    reason: 'FieldValueForbidden',
                  },
                ],
                properties: {
                  url: { type: 'string', minLength: 1, maxLength: 20, pattern: '^https?://', description: 'Where it is.' },
                  pages: { type: 'integer', minimum: 1, maximum: 500, default: 5 },
                  level: { type: 'string', enum: ['A', 'AA', 'AAA'], default: 'AA' },
                  ratio: { type: 'number' },
                  flag: {
                    type: 'boolean',
                    'x-kubernetes-validations': [{ rule: 'self || !oldSelf', message: 'flag cannot be taken back' }],
                  },
                  free: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
                  either: { 'x-kubernetes-int-or-string': true },
                  when: { type: 'string', format: 'date-time' },
                  list: {
                    type: 'array',
                    'x-kubernetes-validations': [{ rule: "!('no' in self)", message: 'no is not allowed' }],
                    maxItems: 2,
                    items: { type: 'string', maxLength: 3 },
                  },
                  sub: {
                    type: 'object',
                    default: {},
                    properties: { a: { type: 'string', default: 'x' }, n: { type: 'integer', nullable: true } },
                  },
                  map: { type: 'object', additionalProperties: { type: 'string' } },
                  functions: FUNCTIONS,
                  items: {
                    type: 'array',
                    'x-kubernetes-list-type': 'map',
                    'x-kubernetes-list-map-keys': ['id'],
                    items: { type: 'object', required: ['id'], properties: { id: { type: 'string' }, v: { type: 'integer' } } },
                  },
                },
              },
              status: {
                type: 'object',
                properties: {
                  phase: { type: 'string' },
                  conditions: {
                    type: 'array',
                    items: {
                      type: 'object',
                      required: ['type', 'status'],
                      properties: { type: { type: 'string' }, status: { type: 'string' }, message: { type: 'string' } },
                    },
                  },
                },
              },
            },
          },
        },
      },
    ],
  },
};

/** Writes the definition to a file in a new folder. @returns the folder and the file */
export function definitionFile(): { folder: string; file: string } {
  const folder = mkdtempSync(join(tmpdir(), 'curbcut-kube-test-'));
  const file = join(folder, 'widgets.yaml');
  writeFileSync(file, JSON.stringify(DEFINITION));
  return { folder, file };
}

export const widget = (name: string, spec: unknown, more: object = {}): object => ({
  apiVersion: `${GROUP}/v1`,
  kind: 'Widget',
  metadata: { name },
  spec,
  ...more,
});

/** The collection's path. */
export const widgets = (namespace: string): string => `/apis/${GROUP}/v1/namespaces/${namespace}/${PLURAL}`;
