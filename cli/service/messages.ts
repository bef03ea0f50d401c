/** Schemas of the service's responses, limited to what the command line needs. Unknown fields are allowed. */
import { type Static, Type } from 'typebox';
import { Value } from 'typebox/value';
import { nullable, open, snakeCase } from '../../core/schemas.ts';
import { ComparisonResult, CompleteEvent, ScanResult as FullScanResult } from '../../core/scan/result.ts';
import { ValidationBounds, validationTextForUsers } from '../../core/validation-texts.ts';
import { THRESHOLD_NAMES, THRESHOLDS } from '../../core/scan/thresholds.ts';

/**
 * The option of `curbcut scan` for each field of a submission, so that errors of the service name what the user typed. Fields whose option
 * has another name. All others have their own with hyphens.
 */
const OTHERS: Readonly<Record<string, string>> = {
  ...Object.fromEntries(THRESHOLD_NAMES.map((name) => [snakeCase(name), `--${THRESHOLDS[name].flag[0]}`])),
  url: 'The URL',
  http_fallback: 'The URL',
  wcag_level: '--wcag',
  wcag_version: '--wcag',
  pictures: '--no-pictures',
  advice: '--no-advice',
  auth: '--auth-secret',
  fail_on_truncation: '--partial',
  metadata: '--metadata',
};

/** @param path that of a value in the body of a submission */
export function optionOf([field = '', ...path]: readonly (string | number)[]): string {
  const option = OTHERS[String(field)] ?? `--${String(field).replaceAll('_', '-')}`;
  const parts = path.map((part) => (typeof part === 'number' ? `item ${part + 1}` : part));
  return parts.length === 0 ? option : `${option} (${parts.join(', ')})`;
}

/** A phase. The service may add phases: an unknown one is not terminal. */
const Status = Type.String({ minLength: 1 });

/** An accepted submission. */
export const Accepted = Type.Object({
  scan_id: Type.String({ pattern: '^[0-9a-fA-F-]{36}$' }),
  message: Type.String(),
  pages_requested: Type.Integer(),
  pages_reserved: Type.Integer(),
});
export type Accepted = Static<typeof Accepted>;

const { event, status: _status, ...ended } = CompleteEvent.properties;
const { url, report_url, known_issues, queue } = FullScanResult.properties;
const { score_without_known, score_without_decisions, violations_new_or_open, ...always } = ended;

/** A scan, as a poll or the `complete` event describes it. */
export const ScanResult = Type.Object({
  ...always,
  status: Status,
  ...Type.Partial(
    Type.Object({ url, report_url, known_issues, queue, score_without_known, score_without_decisions, violations_new_or_open }),
  ).properties,
  baseline: Type.Optional(nullable(open(ComparisonResult))),
  metadata: Type.Optional(Type.Record(Type.String(), Type.String())),
});
export type ScanResult = Static<typeof ScanResult>;

const ListedScan = Type.Intersect([ScanResult, Type.Object({ url: Type.String(), submitted_at: Type.String() })]);
export type ListedScan = Static<typeof ListedScan>;

export const ScanPage = Type.Object({ data: Type.Array(ListedScan), next_cursor: nullable(Type.String()) });
export type ScanPage = Static<typeof ScanPage>;

/** Who the caller is. */
export const Me = Type.Object({
  organisation: Type.Object({ id: Type.String(), name: Type.String() }),
  permissions: Type.Array(Type.String()),
});
export type Me = Static<typeof Me>;

/** A `progress` event. */
export const Progress = Type.Object({
  event: Type.Literal('progress'),
  status: Status,
  pages_scanned: Type.Optional(Type.Integer({ minimum: 0 })),
  pages_total: Type.Optional(Type.Integer({ minimum: 0 })),
  message: Type.Optional(nullable(Type.String())),
});
export type Progress = Static<typeof Progress>;

export const Complete = Type.Object({ event, ...ScanResult.properties });

/** A presigned link, and for how many seconds it is valid. */
export const Link = Type.Object({ url: Type.String({ pattern: '^https?://' }), expires_in: Type.Integer({ minimum: 0 }) });
export type Link = Static<typeof Link>;

const Refusal = Type.Object({ detail: Type.String(), message: Type.Optional(Type.String()) });
const Invalid = Type.Object({
  detail: Type.Array(
    Type.Object({
      loc: Type.Array(Type.Union([Type.String(), Type.Number()])),
      msg: Type.String(),
      type: Type.Optional(Type.String()),
      bounds: Type.Optional(ValidationBounds),
    }),
  ),
});

/** The body of an error: a code with a message, or validation errors; null if it is neither. */
export type RefusalBody =
  | { code: string; message: string; fields: Record<string, unknown> }
  | { code: 'validation'; message: string; fields: Record<string, unknown> }
  | null;

/** Reads the body of an error. Validation errors become one line per field. */
export function readRefusal(body: unknown): RefusalBody {
  if (Value.Check(Refusal, body)) return { code: body.detail, message: body.message ?? body.detail, fields: body };
  if (Value.Check(Invalid, body)) {
    const lines = body.detail.map(lineOf);
    return { code: 'validation', message: lines.join('\n'), fields: {} };
  }
  return null;
}

/**
 * An error of a field as a sentence about its option; the service's own sentence if this version does not know the type. An unexpected field
 * is one that the service does not know yet: only its own name makes sense, because the option exists.
 */
function lineOf({ loc: [part, ...path], msg, type = '', bounds }: Static<typeof Invalid>['detail'][number]): string {
  const subject = part === 'body' && path.length > 0 ? optionOf(path) : path.join('.') || String(part);
  const text = type === 'unexpected_field' ? null : validationTextForUsers(subject, { type, bounds });
  return text ?? `${subject}: ${msg}`;
}
