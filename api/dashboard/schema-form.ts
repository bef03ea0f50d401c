/** A form of the dashboard from the schema of the REST body that it writes: its controls, what was typed, the body, and what is wrong. */
import type { FastifyReply } from 'fastify';
import type { Static, TObject } from 'typebox';
import { ApiError, messageOf, statusOf, ValidationFailure, type ErrorCode } from '../http/errors.ts';
import { compileValidator } from '../http/validation.ts';
import { choices, textArea, textField, type Choice, type FormError } from '../web/components.ts';
import type { Form } from '../web/html-scope.ts';
import type { Html, HtmlValue } from '../../report/html/html.ts';
import { english, tr, trChoices } from '../web/texts.ts';
import { errorOf, formErrors, type FormField, type FormFields } from './forms.ts';

/** What a form says about a field. Its schema says the rest. */
export interface SchemaField extends FormField {
  hint?: HtmlValue | (() => HtmlValue);
  /** A list is typed with boxes, one of them with radio buttons. */
  choices?: readonly Choice[];
  /** Text of several lines. */
  rows?: number;
  /** Text that is no prose. */
  code?: boolean;
}

/** The texts that were typed, by field: of a list several. */
export type Typed = Readonly<Record<string, readonly string[]>>;

interface Property {
  type: string | string[];
  format?: string;
  maxLength?: number;
  default?: unknown;
}

export function schemaForm<T extends TObject>(schema: T, fields: Readonly<Record<string, SchemaField>>) {
  const properties = schema.properties as unknown as Readonly<Record<string, Property>>;
  const validate = checkerOf(schema);
  const names = Object.keys(fields);
  const typeOf = (name: string): string => [properties[name]!.type].flat()[0]!;
  const isRequired = (name: string): boolean => (schema.required ?? []).includes(name) || properties[name]!.default !== undefined;

  /** A text that is no number or date stays as it is, so that it is refused. */
  function valueOf(name: string, typed: readonly string[]): unknown {
    const [text = ''] = typed;
    if (typeOf(name) === 'array') return typed;
    if (typeOf(name) === 'boolean') return text === 'yes';
    if (text === '' && !isRequired(name)) return undefined;
    if (properties[name]!.format === 'date-time') return text === '' ? text : `${text}T00:00:00Z`;
    return typeOf(name) === 'integer' && /^\d{1,12}$/.test(text) ? Number(text) : text;
  }

  function control(name: string, typed: Typed, errors: readonly FormError[]): Html {
    const { label, hint, choices: choicesOf, rows, code = false } = fields[name]!;
    const { format, maxLength: maxlength } = properties[name]!;
    const type = typeOf(name);
    const values = typed[name] ?? [];
    const common = {
      name,
      label: tr(label),
      hint: typeof hint === 'function' ? hint() : typeof hint === 'string' ? tr(hint) : hint,
      required: isRequired(name),
      error: errorOf(errors, name),
    };
    if (choicesOf !== undefined)
      return choices({ ...common, type: type === 'array' ? 'checkbox' : 'radio', values, choices: trChoices(choicesOf) });
    const [value = ''] = values;
    if (rows !== undefined) {
      const attributes = { ...(code && { spellcheck: 'false', autocapitalize: 'off' }), maxlength };
      return textArea({ ...common, value, rows, attributes });
    }
    if (format === 'date-time') return textField({ ...common, value, type: 'date', width: 'medium' });
    if (type === 'integer') return textField({ ...common, value, width: 'short', inputmode: 'numeric' });
    if (format === 'uri') return textField({ ...common, value, type: 'url', autocomplete: 'off' });
    return textField({ ...common, value, maxlength, autocomplete: 'off' });
  }

  return {
    fields: fields as FormFields,
    /** What a form shows at first. @param given other values than the defaults */
    initial: (given: Readonly<Record<string, string | readonly string[]>> = {}): Typed =>
      Object.fromEntries(names.map((name) => [name, [given[name] ?? String(properties[name]!.default ?? '')].flat()])),
    read: (form: Form): Typed =>
      Object.fromEntries(names.map((name) => [name, typeOf(name) === 'array' ? form.all(name) : [form.text(name)]])),
    /** The fields in their order. */
    controls: (typed: Typed, errors: readonly FormError[], only = names): Html[] => only.map((name) => control(name, typed, errors)),
    /** The body of a request, not checked. */
    body: (typed: Typed): Record<string, unknown> =>
      Object.fromEntries(names.map((name) => [name, valueOf(name, typed[name] ?? [])]).filter(([, value]) => value !== undefined)),
    check: validate,
  };
}

/** Checks bodies with the schema of the API, so that the rules and the errors are the same. */
export function checkerOf<T extends TObject>(schema: T): (body: object) => Static<T> {
  const validate = compileValidator({ schema, method: 'POST', url: '/dashboard', httpPart: 'body' });
  /** @throws ValidationFailure */
  return (body) => {
    const { value, error } = validate(body) as { value?: unknown; error?: unknown };
    if (error instanceof ValidationFailure) throw error;
    return value as Static<T>;
  };
}

interface AnsweredForm {
  fields: FormFields;
  /** The errors that the form itself shows. Others have a page of their own. */
  refusals: readonly ErrorCode[];
  /** The form with what is wrong. */
  page: (errors: readonly FormError[]) => Html | Promise<Html>;
  /** Does what the form asks for. */
  act: () => Promise<FastifyReply>;
}

/** Answers a form that was sent: with what was done, or with the form and what is wrong. @throws what the form does not explain */
export async function answerForm(reply: FastifyReply, { fields, refusals, page, act }: AnsweredForm): Promise<FastifyReply> {
  try {
    return await act();
  } catch (error) {
    if (error instanceof ValidationFailure) return reply.page(await page(formErrors(error.items, fields)), { status: statusOf(error) });
    if (!(error instanceof ApiError) || !refusals.includes(error.code)) throw error;
    if (error.retryAfterSeconds !== null) reply.header('Retry-After', error.retryAfterSeconds);
    return reply.page(await page([{ field: null, text: english(messageOf(error)) }]), { status: statusOf(error) });
  }
}
