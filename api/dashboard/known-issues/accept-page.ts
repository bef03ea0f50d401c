/** The form that accepts a root cause of a scan as a known issue. */
import type { FastifyRequest } from 'fastify';
import { KNOWN_ISSUES_PATH, scanPath, SCANS_PATH } from '../../../core/web-paths.ts';
import { KNOWN_ISSUE_TEXT_MAX } from '../../../core/scan/known-issues.ts';
import type { Impact } from '../../../core/scan/impacts.ts';
import {
  actions,
  button,
  choices,
  definitions,
  hiddenField,
  linkButton,
  severityBadge,
  textArea,
  type FormError,
} from '../../web/components/index.ts';
import { html, type Html } from '../../web/html.ts';
import { csrfField, errorOf } from '../forms.ts';
import { titledPage } from '../titled-page.ts';
import { count, ELEMENTS, pagesText, shown } from '../views/scan-words.ts';
import { commonFields, type TypedFields } from './form-fields.ts';

/** The root cause that the form is about. */
export interface AcceptedCause {
  scanId: string;
  site: string;
  fingerprint: string;
  rule: string;
  /** What the page of the scan says about it. */
  shown: { title: string; element: string | undefined; impact: Impact; elements: number; pages: number };
}

export const ABOUT = ['cause', 'selector'] as const;

export interface TypedIssue extends TypedFields {
  about: (typeof ABOUT)[number];
  selector: string;
  /** Identifies this form, so that sending it twice accepts one issue. */
  formId: string;
}

interface AcceptPage {
  request: FastifyRequest;
  cause: AcceptedCause;
  typed: TypedIssue;
  errors: readonly FormError[];
}

export function acceptPage({ request, cause, typed, errors }: AcceptPage): Html {
  const { scanId, site, fingerprint, rule } = cause;
  const body = html`<p class="lead">Reports keep showing a known issue, marked with reason and end. Thresholds do not count it.</p>
    ${summary(cause)}
    <form method="post" action="${KNOWN_ISSUES_PATH}/new" novalidate>
      ${csrfField(request)} ${hiddenField('form_id', typed.formId)} ${hiddenField('scan', scanId)} ${hiddenField('site', site)}
      ${hiddenField('cause', fingerprint)} ${hiddenField('rule', rule)}
      ${choices({
        name: 'about',
        label: 'What is accepted',
        type: 'radio',
        required: true,
        values: [typed.about],
        choices: [
          { value: 'cause', text: 'This root cause', hint: 'All of its elements, on every page, and new elements of the same cause.' },
          {
            value: 'selector',
            text: 'Only elements at a selector',
            hint: html`Elements of the rule ${shown(rule, 100)} with exactly this selector, on every page.`,
          },
        ],
        error: errorOf(errors, 'about'),
      })}
      ${textArea({
        name: 'selector',
        label: 'Selector',
        hint: 'Used only for the second choice. Those of frames and shadow hosts precede it, separated by " >>> ".',
        value: typed.selector,
        rows: 2,
        attributes: { spellcheck: 'false', autocapitalize: 'off', maxlength: KNOWN_ISSUE_TEXT_MAX.selector },
        error: errorOf(errors, 'selector'),
      })}
      ${commonFields(typed, errors)}
      ${actions(button({ text: 'Accept as known', kind: 'primary' }), linkButton({ text: 'Cancel', href: scanPath(scanId), kind: 'quiet' }))}
    </form>`;
  const trail = [
    { text: 'Scans', href: SCANS_PATH },
    { text: `Scan of ${shown(site)}`, href: scanPath(scanId) },
  ];
  return titledPage({ request, title: 'Accept a known issue', active: 'scans', trail, errors, narrow: true, body });
}

function summary({ site, rule, shown: cause }: AcceptedCause): Html {
  return definitions([
    ['Root cause', html`${shown(cause.title)}${cause.element !== undefined && html` <code>${shown(cause.element)}</code>`}`],
    ['Severity', severityBadge(cause.impact)],
    ['Found', `${count(ELEMENTS, cause.elements)} on ${pagesText(cause.pages)}`],
    ['Rule', html`<code>${shown(rule, 100)}</code>`],
    ['Site', shown(site)],
  ]);
}
