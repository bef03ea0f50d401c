/** IDs of what a form creates, so that sending it twice creates one. */
import { randomUUID } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import { isUuid, uuidOf } from '../../core/uuid.ts';
import { callerOf } from '../http/plugins/auth.ts';
import type { Form } from '../web/html-scope.ts';

/** The ID of a form that was sent; a new one if it has none. */
export function formIdOf(form: Form): string {
  const id = form.text('form_id');
  return isUuid(id) ? id : randomUUID();
}

/** The ID of what a form creates. It depends on the user, so that a form cannot name what another user has created. */
export function idOfForm(request: FastifyRequest, formId: string): string {
  const { organisation, actor } = callerOf(request);
  const owner = actor.kind === 'user' ? actor.email : actor.keyId;
  return uuidOf(`${organisation.id}/${owner}/${formId}`);
}
