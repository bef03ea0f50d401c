/** The list of schedules: those of the dashboard, and those of manifests. */
import type { FastifyRequest } from 'fastify';
import { docPath, SCHEDULES_PATH } from '../../../core/web-paths.ts';
import type { ListedSchedule } from '../../../stores/schedules/schedules.ts';
import { code, emptyState, foldedCard, link, linkButton, pagination } from '../../web/components/index.ts';
import { html, type Html } from '../../web/html.ts';
import { titledPage } from '../titled-page.ts';
import { outdated, scheduleTable } from './words.ts';

export interface SchedulesPage {
  request: FastifyRequest;
  schedules: readonly ListedSchedule[];
  /** Whether this is the first part of the list. */
  first: boolean;
  nextCursor: string | null;
  mayCreate: boolean;
  done: string | null;
  now: Date;
}

export function schedulesPage({ request, schedules, first, nextCursor, mayCreate, done, now }: SchedulesPage): Html {
  const create = mayCreate && linkButton({ text: 'New schedule', href: `${SCHEDULES_PATH}/new`, kind: 'primary' });
  const body = html`<p class="lead">Scans at fixed times. Those that a manifest in the cluster declares are changed there.</p>
    ${create && html`<p>${create}</p>`} ${outdated(schedules, now)}
    ${schedules.length === 0 ? noSchedules(first) : scheduleTable(schedules)}
    ${pagination({ previous: first ? null : SCHEDULES_PATH, next: nextCursor === null ? null : `${SCHEDULES_PATH}?cursor=${nextCursor}` })}
    ${asManifest()}`;
  return titledPage({ request, title: 'Schedules', active: 'schedules', done, body });
}

function noSchedules(first: boolean): Html {
  if (!first) return emptyState({ title: 'There are no more schedules', text: 'The list ended with the part before.' });
  return emptyState({
    title: 'There is no schedule',
    text: 'Create one here, or apply one to a namespace that is charged to your organisation. It appears here within seconds.',
  });
}

const EXAMPLE = `apiVersion: curbcut.dev/v1
kind: ScanSchedule
metadata:
  name: shop-nightly
  namespace: team-a
spec:
  schedule: 30 2 * * *
  timeZone: Europe/Berlin
  scanTemplate:
    spec:
      url: https://shop.example.com/
      maxPages: 50
      thresholds:
        minScore: 90`;

const asManifest = (): Html =>
  foldedCard({
    id: 'manifests',
    title: 'Schedules as manifests',
    body: html`<p>
        Save a manifest, apply it with <code translate="no">kubectl apply -f shop-nightly.yaml</code>, or commit it to the repository that
        Argo CD or Flux applies. The namespace must be charged to your organisation.
      </p>
      ${code({ id: 'example', label: 'Manifest of a schedule', text: EXAMPLE })}
      <p>Run it now, suspend it, or remove it:</p>
      ${code({
        id: 'commands',
        label: 'Commands for a schedule',
        text: `kubectl annotate scanschedule shop-nightly -n team-a curbcut.dev/run="$(date +%s)" --overwrite
kubectl patch scanschedule shop-nightly -n team-a --type=merge -p '{"spec":{"suspend":true}}'
kubectl delete scanschedule shop-nightly -n team-a`,
      })}
      <p>${link('For platform teams', docPath('gitops'))} and ${link('Scans as Kubernetes resources', docPath('kubernetes'))} describe every field.</p>`,
  });
