/** Scan options and thresholds in the JSON export: snake_case, one flat list, null for a threshold that is not set. */
import { Type, type Static, type TProperties, type TSchema } from 'typebox';
import { nullable, snakeCase, snakeKeys, type SnakeCase } from '../schemas.ts';
import { CrawlRules, ScanOptions } from './options.ts';
import { PREPARE_MAX, SnakeStep, toSnakeStep } from './steps.ts';
import { THRESHOLDS, THRESHOLD_NAMES, type ThresholdName, type Thresholds } from './thresholds.ts';

const closed = { additionalProperties: false } as const;

/** Removes the defaults, because an option in the export always has a value. */
const withoutDefaults = <P extends TProperties>(properties: P): P =>
  Object.fromEntries(
    Object.entries(properties).map(([name, { default: _, ...schema }]: [string, { default?: unknown }]) => [name, schema]),
  ) as P;

const { url: _url, maxPages, thresholds: _thresholds, crawl: _crawl, ...rest } = ScanOptions.properties;

const FIELDS = {
  ...snakeKeys(withoutDefaults(rest)),
  ...snakeKeys(withoutDefaults(CrawlRules.properties)),
  // Copies would not be optional.
  states: ScanOptions.properties.states,
  parallelism: ScanOptions.properties.parallelism,
  prepare: Type.Array(SnakeStep, { maxItems: PREPARE_MAX, description: 'The steps that run before the pages.' }),
};

/**
 * The options of a scan, with defaults, as a submission names them, and those that only manifests set. The address and the thresholds
 * are apart.
 */
export const SubmittedOptions = Type.Object({ ...snakeKeys(withoutDefaults({ maxPages })), ...FIELDS }, closed);
export type SubmittedOptions = Static<typeof SubmittedOptions>;

export const ReportOptions = Type.Object(
  {
    pages_requested: Type.Integer({ minimum: 1, description: 'Pages that the caller asked for.' }),
    pages_reserved: Type.Integer({ minimum: 1, description: 'Pages that credits were reserved for; fewer if the balance was short.' }),
    ...FIELDS,
  },
  closed,
);
export type ReportOptions = Static<typeof ReportOptions>;

type ThresholdSchemas = { [K in ThresholdName as SnakeCase<K>]: ReturnType<typeof nullable<(typeof THRESHOLDS)[K]['schema']>> };

export const ReportThresholds = Type.Object(
  Object.fromEntries(
    THRESHOLD_NAMES.map((name) => [snakeCase(name), nullable<TSchema>(THRESHOLDS[name].schema)]),
  ) as unknown as ThresholdSchemas,
  closed,
);
export type ReportThresholds = Static<typeof ReportThresholds>;

/** Converts a scan's options and thresholds to those of a scan result. */
export function toSubmittedOptions({ url: _url, thresholds, crawl, ...rest }: ScanOptions): {
  options: SubmittedOptions;
  thresholds: ReportThresholds;
} {
  return {
    options: { ...snakeKeys(rest), ...snakeKeys(crawl), prepare: crawl.prepare.map(toSnakeStep) },
    thresholds: Object.fromEntries(THRESHOLD_NAMES.map((name) => [snakeCase(name), thresholds[name] ?? null])) as ReportThresholds,
  };
}

/** Converts a scan's options and thresholds to those of its export. The two page counts replace `options.maxPages`. */
export function toReportOptions(scanOptions: ScanOptions, pagesReserved: number): { options: ReportOptions; thresholds: ReportThresholds } {
  const { options, thresholds } = toSubmittedOptions(scanOptions);
  const { max_pages: pagesRequested, ...rest } = options;
  return { options: { pages_requested: pagesRequested, pages_reserved: pagesReserved, ...rest }, thresholds };
}

/** Converts the thresholds of an export back. */
export function thresholdsOf(report: ReportThresholds): Thresholds {
  return Object.fromEntries(
    THRESHOLD_NAMES.flatMap((name) => {
      const allowed = report[snakeCase(name)];
      return allowed == null ? [] : [[name, allowed]];
    }),
  );
}
