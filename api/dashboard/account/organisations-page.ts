/** The page of the organisations that a user belongs to or may join. */
import type { FastifyRequest } from 'fastify';
import type { Invitation } from '../../../stores/accounts/invitations.ts';
import type { Belonging } from '../../../stores/accounts/members.ts';
import { ORGANISATIONS_PATH } from '../../accounts/sessions/require-session.ts';
import {
  actions,
  badge,
  button,
  card,
  confirmedForm,
  emptyState,
  hiddenField,
  notice,
  table,
  time,
  type FormError,
} from '../../web/components/index.ts';
import { html, type Html } from '../../web/html.ts';
import { csrfField } from '../forms.ts';
import { ROLE_TEXTS } from '../roles.ts';
import { titledPage } from '../titled-page.ts';

/** The page, with an invitation that the person opened before. */
export const openedInvitationPath = (id: string): string => `${ORGANISATIONS_PATH}?invitation=${encodeURIComponent(id)}`;

export interface Choice extends Invitation {
  organisationName: string;
}

export interface OrganisationsPage {
  request: FastifyRequest;
  email: string;
  /** The organisation that the session acts for. */
  current: string | null;
  belongings: readonly Belonging[];
  invitations: readonly Choice[];
  /** The ID of the invitation that the person opened before. */
  opened?: string | null;
  errors?: readonly FormError[];
  done?: string | null;
}

export function organisationsPage(options: OrganisationsPage): Html {
  const { request, email, belongings, invitations, opened = null, errors = [], done } = options;
  const confirmed = belongings.filter((one) => one.confirmed);
  const first = invitations.filter(({ id }) => id === opened);
  const others = invitations.filter(({ id }) => id !== opened);
  return titledPage({
    request,
    title: 'Organisations',
    active: 'organisations',
    errors,
    done,
    body: html`${
      opened !== null &&
      first.length === 0 &&
      notice({
        kind: 'warn',
        announce: true,
        title: 'The invitation that you opened is not here',
        body: html`It was used or canceled, or it is for another address than ${email}.`,
      })
    }
      ${[...first, ...others].map((one) => invitationCard(request, one))}
      ${belongings.filter((one) => !one.confirmed).map((one) => confirmationCard(request, one))}
      ${confirmed.length > 0 ? organisationTable(options, confirmed) : nothing(options)}`,
  });
}

const nothing = ({ email, invitations }: OrganisationsPage): Html =>
  emptyState({
    title: 'You belong to no organisation',
    text: invitations.length > 0 ? 'Join one that invites you.' : `Ask an owner of an organisation to invite ${email}.`,
  });

const form = (request: FastifyRequest, action: string, field: Html, submit: Html): Html =>
  html`<form method="post" action="${ORGANISATIONS_PATH}/${action}">${csrfField(request)} ${field} ${submit}</form>`;

const invitationCard = (request: FastifyRequest, { id, organisationName, role, createdBy, expiresAt }: Choice): Html =>
  card({
    title: `Join ${organisationName}?`,
    body: html`<p>
        ${createdBy} invites you as ${ROLE_TEXTS[role].name.toLowerCase()}: ${ROLE_TEXTS[role].may}. The invitation expires on
        ${time(expiresAt)}.
      </p>
      ${actions(
        form(request, 'join', hiddenField('id', id), button({ text: 'Join', kind: 'primary', hiddenText: organisationName })),
        form(request, 'decline', hiddenField('id', id), button({ text: 'Decline', hiddenText: `the invitation to ${organisationName}` })),
      )}`,
  });

const confirmationCard = (request: FastifyRequest, { organisation: { id, displayName }, role }: Belonging): Html =>
  card({
    title: `Stay in ${displayName}?`,
    body: html`<p>
        Before you verified your address, an account with it joined ${displayName} as ${ROLE_TEXTS[role].name.toLowerCase()}. If you do not
        know this organisation, leave it.
      </p>
      ${actions(
        form(
          request,
          'confirm',
          hiddenField('organisation', id),
          button({ text: 'Stay', kind: 'primary', hiddenText: `in ${displayName}` }),
        ),
        form(request, 'leave', hiddenField('organisation', id), button({ text: 'Leave', hiddenText: displayName })),
      )}`,
  });

function organisationTable({ request, current }: OrganisationsPage, belongings: readonly Belonging[]): Html {
  return html`<h2>Your organisations</h2>
    ${table({
      id: 'organisations',
      caption: 'Organisations that you belong to',
      captionHidden: true,
      columns: [{ text: 'Organisation' }, { text: 'Your role' }, { text: 'Actions', hidden: true }],
      rows: belongings.map(({ organisation: { id, displayName, blocked }, role }, at) => [
        html`${displayName}${blocked && html` ${badge('bad', 'Blocked')}`}`,
        ROLE_TEXTS[role].name,
        actions(id === current ? badge('good', 'Current') : switchForm(request, id, displayName), leaveForm(request, id, displayName, at)),
      ]),
    })}`;
}

const switchForm = (request: FastifyRequest, id: string, name: string): Html =>
  form(request, 'switch', hiddenField('organisation', id), button({ text: 'Switch', kind: 'quiet', hiddenText: `to ${name}` }));

const leaveForm = (request: FastifyRequest, id: string, name: string, at: number): Html =>
  confirmedForm({
    id: `leave-${at + 1}`,
    action: `${ORGANISATIONS_PATH}/leave`,
    fields: html`${csrfField(request)}${hiddenField('organisation', id)}`,
    trigger: { text: 'Leave', kind: 'quiet', hiddenText: name },
    title: `Leave ${name}?`,
    text: 'You lose access at once, and what you invited is canceled. To come back, you need a new invitation. API keys that you created keep working: revoke those that are not needed any more first.',
    confirm: 'Leave',
    cancel: 'Cancel',
  });
