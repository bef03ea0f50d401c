/** Forms that start and cancel scans. */
import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import { auditName } from '../../../core/accounts.ts';
import type { Metadata } from '../../../core/scan/metadata.ts';
import { isTerminal } from '../../../core/scan/phases.ts';
import { isUuid, uuidOf } from '../../../core/uuid.ts';
import { scanPath, SCANS_PATH } from '../../../core/web-paths.ts';
import type { BaselineChoice } from '../../../core/scan/baseline.ts';
import { mayUseSecrets, type SubmittedAuth } from '../../../core/scan/sign-in.ts';
import type { ScanOptions } from '../../../core/scan/options.ts';
import { cancelScan } from '../../scans/cancellation.ts';
import { planCheck } from '../../scans/check.ts';
import { deleteScan } from '../../scans/deletion.ts';
import { ApiError, messageOf, statusOf, ValidationFailure } from '../../http/errors.ts';
import { signedInOf } from '../../accounts/sessions/plugin.ts';
import { callerOf } from '../../http/plugins/auth.ts';
import { refusalOf } from '../../http/plugins/errors.ts';
import { annotate } from '../../http/plugins/request-log.ts';
import type { ScanAccepted } from '../../scans/scans.ts';
import { storesOf } from '../../accounts/scoped-stores.ts';
import { fingerprintOf } from '../../scans/submission/fingerprint.ts';
import { errorOf } from '../../scans/submission/submission.ts';
import type { HtmlValue } from '../../../report/html/html.ts';
import type { FormError } from '../../web/components.ts';
import { formOf } from '../../web/html-scope.ts';
import { titledPage } from '../forms.ts';
import { createScanForm, newScanBody, type ScanFormValues } from './scan-form.ts';
import { checkPath, readCheck } from './check.ts';
import { admit } from './deps.ts';
import { scanOf, sendScanPage } from './routes.ts';
import { english, t } from '../../web/texts.ts';

const config = { permission: 'scans:write' } as const;

/** Keys of forms and those that callers of the API choose cannot be equal. */
const FORM_KEY = 'dashboard form ';

/** The limit of the API's bodies, whose lists of globs and steps a form encodes in up to three times as many bytes. */
export const SCAN_FORM_LIMIT_BYTES = 192 * 1024;

/** How often, and how many milliseconds later, a form asks again for the result of the same form that was sent just before. */
const REPEATS_MAX = 20;
const REPEAT_MS = 250;

interface Submission {
  options: ScanOptions;
  baseline?: BaselineChoice;
  metadata?: Metadata;
  auth?: SubmittedAuth;
  partial: boolean;
  /** What the form says, to recognise that it was sent twice. */
  content: unknown;
}

/** Submits a scan for the form of a request. @returns its ID. @throws ApiError, ValidationFailure or DependencyDown if it is refused */
async function submit(
  request: FastifyRequest,
  reply: FastifyReply,
  { options, baseline, metadata, auth, partial, content }: Submission,
): Promise<string> {
  const { submissions, metrics } = request.server;
  await admit(request, reply, 'submissions');
  const form = formOf(request.body);
  const [formKey, check] = [form.text('idempotency_key'), form.text('check')];
  // A page has one form for all checks.
  const key = check === '' ? formKey : uuidOf(`${formKey} ${check}`);
  const submission = {
    organisation: callerOf(request).organisation.id,
    submittedBy: auditName(callerOf(request).actor),
    options,
    ...(baseline && { baseline }),
    metadata,
    ...(auth && { auth }),
    partial,
    idempotency: isUuid(formKey) ? { key: FORM_KEY + key, fingerprint: fingerprintOf(content) } : null,
    origin: { requestId: request.id, traceparent: request.span?.traceparent },
  };
  const logger = request.server.logger.child({ request: request.id });
  let outcome = await submissions.submit(submission, logger);
  // A double click: the browser shows only the second response, so it has to be that of the first.
  for (let repeat = 0; repeat < REPEATS_MAX && !outcome.ok && outcome.reason === 'idempotency_conflict'; repeat += 1) {
    await wait(REPEAT_MS);
    outcome = await submissions.submit(submission, logger);
  }
  metrics.submission(outcome.ok ? (outcome.replayed ? 'replayed' : 'accepted') : outcome.reason);
  if (!outcome.ok) throw errorOf(outcome, options.maxPages);
  const { scan_id } = outcome.answer.body as ScanAccepted;
  annotate(request, { scan: scan_id, replayed: outcome.replayed });
  request.server.stores.organisations.recordStart(outcome.row);
  return scan_id;
}

/** The error of a refusal that a page explains. @throws any other error, which gets the page of errors */
export function explained(error: unknown, reply: FastifyReply): ApiError | ValidationFailure {
  const refusal = refusalOf(error);
  if (statusOf(refusal) === 500) throw error;
  if (refusal instanceof ApiError && refusal.retryAfterSeconds !== null) reply.header('Retry-After', refusal.retryAfterSeconds);
  return refusal;
}

/** The text of a refusal, as the API sends it. */
export function textOf(refusal: ApiError | ValidationFailure): HtmlValue {
  if (refusal instanceof ValidationFailure) return english(refusal.message);
  const after = refusal.retryAfterSeconds === null ? '' : ` (Retry-After: ${refusal.retryAfterSeconds} s)`;
  return english(messageOf(refusal) + after);
}

/** The key of a form after a refusal that may not be final, so that a scan that was started nevertheless is not started twice. */
function keyAfter(request: FastifyRequest, status: number | undefined): string | null {
  const given = formOf(request.body).text('idempotency_key');
  return (status === 503 || status === 409) && isUuid(given) ? given : null;
}

export const scanActions: FastifyPluginAsync = async (scope) => {
  const { maxPagesLimit, allowPrepareSteps, allowScanSecrets } = scope.settings;
  const form = createScanForm(maxPagesLimit);

  /** Sends the form with what was typed and what is wrong. */
  async function sendForm(
    request: FastifyRequest,
    reply: FastifyReply,
    { values, errors, status }: { values: ScanFormValues; errors: readonly FormError[]; status?: number },
  ): Promise<FastifyReply> {
    const body = newScanBody({
      form,
      values,
      errors,
      csrfToken: request.viewer!.csrfToken,
      idempotencyKey: keyAfter(request, status) ?? randomUUID(),
      credits:
        (
          await storesOf(request)
            .credits.account()
            .catch(() => null)
        )?.balance ?? null,
      allowPrepareSteps,
      mayUseSecrets: mayUseSecrets(callerOf(request).organisation.id, allowScanSecrets),
    });
    const trail = [{ text: t`Scans`, href: SCANS_PATH }];
    return reply.page(titledPage({ request, title: t`New scan`, active: 'scans', trail, errors, narrow: true, body }), { status });
  }

  scope.get('/dashboard/scans/new', { config }, async (request, reply) => {
    const { locale } = signedInOf(request).user;
    return sendForm(request, reply, { values: { ...form.empty, ...(locale && { locale }) }, errors: [] });
  });

  scope.post('/dashboard/scans/new', { config, bodyLimit: SCAN_FORM_LIMIT_BYTES }, async (request, reply) => {
    const values = form.read(formOf(request.body));
    const checked = form.check(values);
    if (!checked.ok) return sendForm(request, reply, { values, errors: checked.errors, status: 422 });
    try {
      const id = await submit(request, reply, { ...checked, content: checked.body });
      return await reply.redirect(`/dashboard/scans/${id}`, 303);
    } catch (error) {
      const refusal = explained(error, reply);
      const errors = refusal instanceof ValidationFailure ? form.errorsOf(refusal.items) : [{ field: null, text: textOf(refusal) }];
      return sendForm(request, reply, { values, errors, status: statusOf(refusal) });
    }
  });

  scope.post('/dashboard/scans/:id/again', { config }, async (request, reply) => {
    const row = await scanOf(request);
    try {
      const options = { ...row.options, maxPages: Math.min(row.options.maxPages, maxPagesLimit) };
      const { baseline, auth } = row;
      const again = { options, ...(baseline && { baseline }), ...(auth && { auth }) };
      const id = await submit(request, reply, { ...again, partial: false, content: options });
      return await reply.redirect(`/dashboard/scans/${id}`, 303);
    } catch (error) {
      const refusal = explained(error, reply);
      const status = statusOf(refusal);
      const idempotencyKey = keyAfter(request, status);
      return sendScanPage(request, reply, { row, message: { kind: 'bad', text: textOf(refusal) }, status, idempotencyKey });
    }
  });

  scope.post(checkPath(':id'), { config }, async (request, reply) => {
    const row = await scanOf(request);
    const { url, cause } = readCheck(formOf(request.body).text('check'));
    try {
      const planned = await planCheck({ scan: row.id, ...(cause !== undefined && { cause }) }, url, (id) =>
        storesOf(request).scans.find(id),
      );
      const id = await submit(request, reply, { ...planned, partial: false, content: { url, cause } });
      return await reply.redirect(scanPath(id), 303);
    } catch (error) {
      const refusal = explained(error, reply);
      return sendScanPage(request, reply, { row, message: { kind: 'bad', text: textOf(refusal) }, status: statusOf(refusal) });
    }
  });

  scope.post('/dashboard/scans/:id/cancel', { config }, async (request, reply) => {
    const row = await scanOf(request);
    try {
      await cancelScan(request, row);
    } catch (error) {
      const refusal = explained(error, reply);
      // It ended a moment ago, which its page shows.
      const current = isTerminal(row.phase) ? row : ((await storesOf(request).scans.find(row.id)) ?? row);
      return sendScanPage(request, reply, {
        row: current,
        message: { kind: 'bad', text: textOf(refusal) },
        status: statusOf(refusal),
      });
    }
    return reply.redirect(`/dashboard/scans/${row.id}?canceling`, 303);
  });

  scope.post('/dashboard/scans/:id/delete', { config: { permission: 'scans:delete' } }, async (request, reply) => {
    await deleteScan(request, await scanOf(request));
    return reply.redirect(`${SCANS_PATH}?deleted`, 303);
  });
};
