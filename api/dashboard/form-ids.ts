/** IDs of what a form creates, so that sending it twice creates one. */
import { createHash, randomUUID } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import { callerOf } from '../http/plugins/auth.ts';
import type { Form } from '../web/html-scope.ts';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** The ID of a form that was sent; a new one if it has none. */
export function formIdOf(form: Form): string {
  const id = form.text('form_id');
  return UUID.test(id) ? id : randomUUID();
}

/** The ID of what a form creates. It depends on the user, so that a form cannot name what another user has created. */
export function idOfForm(request: FastifyRequest, formId: string): string {
  const { organisation, actor } = callerOf(request);
  const owner = actor.kind === 'user' ? actor.email : actor.keyId;
  const hash = createHash('sha256').update(`${organisation.id}/${owner}/${formId}`).digest('hex');
  // The version and variant of a UUID that is derived from a name.
  return `${hash.slice(0, 8)}-${hash.slice(8, 12)}-8${hash.slice(13, 16)}-8${hash.slice(17, 20)}-${hash.slice(20, 32)}`;
}
