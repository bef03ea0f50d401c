/** What mails are about, for tests of their texts and of their appearance. */
import { ACCOUNT_NOTICES } from '../../core/audit-actions.ts';
import { OWNER_NOTICES } from '../../stores/outbox/mails.ts';
import { renderSummary } from '../../api/outbox/weekly-summary.ts';
import { renderScanEnded, type ScanEnded } from '../../api/outbox/scan-ended.ts';
import type { RootCause } from '../../report/schema/root-cause.ts';
import type { ReportView } from '../../report/view/schema.ts';
import { withDefaults } from '../../core/scan/options.ts';
import type { Locale } from '../../core/scan/locales.ts';
import type { Outcome } from '../../core/scan/outcome.ts';
import {
  renderAccountNotice,
  renderConsent,
  renderInvitation,
  renderOwnerNotice,
  renderPasswordReset,
  renderScanResult,
  renderWebhookStopped,
  type Rendered,
  type ResultMail,
} from '../../api/outbox/mail-contents.ts';

const group = (
  rule: string,
  impact: RootCause['impact'],
  help: string,
  elements: number,
  html: string,
  contrast?: RootCause['example']['contrast'],
): RootCause => ({
  fingerprint: rule,
  rule,
  impact,
  wcag: ['1.1.1'],
  help,
  help_url: `https://dequeuniversity.com/rules/axe/4.14/${rule}`,
  pages: 1,
  elements,
  page_urls: ['https://shop.example.com/'],
  example: {
    selector: rule,
    html,
    landmark: null,
    box: null,
    failure_summary: help,
    frame_path: [],
    shadow_path: [],
    ...(contrast && { contrast }),
  },
});

export const GROUPS: RootCause[] = [
  group(
    'image-alt',
    'critical',
    'Images must have alternative text',
    12,
    '<img class="hero" src="/img/hero.jpg" width="1280" height="640">',
  ),
  group(
    'label',
    'critical',
    'Form elements must have labels',
    2,
    '<input type="email" name="newsletter" placeholder="Your e-mail address">',
  ),
  group(
    'color-contrast',
    'serious',
    'Elements must meet minimum color contrast ratio thresholds',
    21,
    '<a class="nav" href="/sale">Sale</a>',
    { foreground: '#8a8a8a', background: '#ffffff', ratio: 3.45, required: 4.5, font_size_px: 16, bold: true },
  ),
  group('link-name', 'serious', 'Links must have discernible text', 3, '<a href="https://social.example.com/shop"><i></i></a>'),
  group('heading-order', 'moderate', 'Heading levels should only increase by one', 1, '<h4>Opening hours</h4>'),
  group('skip-link', 'moderate', 'The skip-link target should exist and be focusable', 1, '<a href="#main">Skip</a>'),
];

const NONE: Outcome = { score: 100, violations: { critical: 0, serious: 0, moderate: 0, minor: 0, total: 0 }, pages: { scanned: 1, failed: 0, total: 1 } }; // prettier-ignore

const viewOf = (groups: RootCause[], incomplete = 0): ReportView =>
  ({
    groups,
    groups_total: groups.length,
    pages_with_gaps: incomplete,
    score: { needs_review: incomplete * 3 },
    options: withDefaults({ url: 'https://shop.example.com/' }),
  }) as unknown as ReportView;

/** A result with the given number of violations, all of them serious. */
export function doneWith(total: number): ResultMail['ended'] {
  if (total === 0) return { phase: 'done', outcome: NONE, view: viewOf([]) };
  const outcome: Outcome = { ...NONE, score: 71.4, violations: { ...NONE.violations, serious: total, total } };
  return { phase: 'done', outcome, view: viewOf([{ ...GROUPS[2]!, elements: total }]) };
}

const MANY: ResultMail['ended'] = {
  phase: 'done',
  outcome: { ...NONE, score: 62.5, violations: { critical: 14, serious: 1224, moderate: 2, minor: 0, total: 1240 } },
  view: viewOf(GROUPS),
};

/** A result of a page that was tested in part. */
export const INCOMPLETE: ResultMail['ended'] = { ...MANY, view: viewOf(GROUPS, 1) };

export const scanResult = (over: Partial<ResultMail> = {}): ResultMail => ({
  url: 'https://shop.example.com/de/angebote?saison=winter',
  at: new Date('2026-11-22T09:05:00Z'),
  ended: MANY,
  resultUrl: 'https://curbcut.example.com/scan/6XVfbrSLyZ9Pp0bq0cJZf0yH1h8T2sQk3mN4vR5wE7A',
  unsubscribeUrl: 'https://curbcut.example.com/unsubscribe/rT5wE7A6XVfbrSLyZ9Pp0bq0cJZf0yH1h8T2sQk3mN4',
  ...over,
});

export const failedWith = (reason: string): ResultMail['ended'] => ({
  phase: 'failed',
  reason,
  message: 'https://shop.example.com/ could not be tested. It answered with the HTTP status 403. Nothing was charged.',
});

/** Renders a mail of each kind and state. */
export const SAMPLES: Readonly<Record<string, (locale: Locale) => Rendered>> = {
  done: (locale) => renderScanResult(scanResult(), context(locale)),
  incomplete: (locale) => renderScanResult(scanResult({ ended: INCOMPLETE }), context(locale)),
  clean: (locale) => renderScanResult(scanResult({ ended: doneWith(0) }), context(locale)),
  failed: (locale) => renderScanResult(scanResult({ ended: failedWith('TargetUnreachable') }), context(locale)),
  'failed-ours': (locale) => renderScanResult(scanResult({ ended: failedWith('Unschedulable') }), context(locale)),
  canceled: (locale) => renderScanResult(scanResult({ ended: { phase: 'canceled' } }), context(locale)),
  'scan-did-not-pass': (locale) => renderScanEnded(scanEnded(), reader(locale)),
  'scan-got-worse': (locale) =>
    renderScanEnded(
      scanEnded({ topic: 'site:shop.example.com', comparison: { new: 3, fixed: 1, unchanged: 12 } as ScanEnded['comparison'] }),
      reader(locale),
    ),
  'scan-failed': (locale) => renderScanEnded(scanEnded({ ended: failedWith('TargetUnreachable') }), reader(locale)),
  weekly: (locale) => renderSummary(SUMMARY, reader(locale)),
  'invitation-to-mails': (locale) =>
    renderConsent(
      { organisation: 'Acme', invitedBy: 'ada@example.com', topics: ['weekly', 'site:shop.example.com'], ...LINK },
      context(locale),
    ),
  invitation: (locale) => renderInvitation({ organisation: 'Acme', invitedBy: 'ada@example.com', ...LINK }, context(locale)),
  'password-reset': (locale) => renderPasswordReset(LINK, context(locale)),
  ...Object.fromEntries(
    ACCOUNT_NOTICES.map((event) => [`notice-${event}`, (locale: Locale) => renderAccountNotice({ event, ...NOTICE }, context(locale))]),
  ),
  'webhook-gone': (locale) => renderWebhookStopped({ ...STOPPED, reason: 'gone' }, context(locale)),
  'webhook-failing': (locale) => renderWebhookStopped({ ...STOPPED, reason: 'failing' }, context(locale)),
  ...Object.fromEntries(
    OWNER_NOTICES.map((event) => [`owner-${event}`, (locale: Locale) => renderOwnerNotice({ event, ...OWNERS }, context(locale))]),
  ),
  'notice-by-administrator': (locale) => renderAccountNotice({ event: 'factors', ...NOTICE, client: null }, context(locale)),
};

/** A scan of an organisation that did not pass. */
export const scanEnded = (over: Partial<ScanEnded> = {}): ScanEnded => {
  const url = 'https://shop.example.com/de/angebote?token=secret';
  const lines = GROUPS.map(({ fingerprint, rule, impact, elements, pages, example }) => ({
    fingerprint,
    rule,
    impact,
    elements,
    pages,
    element: example.selector,
  }));
  const toPass = { causes: lines.slice(0, 2), needed: 2, left: [] };
  const rules = Object.fromEntries(GROUPS.map(({ rule, help, wcag }) => [rule, { help, description: '', wcag }]));
  const view = { ...viewOf(GROUPS), causes: lines, cause_rules: rules, to_pass: toPass };
  return {
    row: {
      id: '3f2b8c1e-6a4d-4f0e-9b7a-1c2d3e4f5a6b',
      site: 'shop.example.com',
      options: withDefaults({ url, thresholds: { failOnSeverity: 'critical' } }),
      passed: false,
      finishedAt: new Date('2026-11-22T09:05:00Z'),
      updatedAt: new Date(),
    },
    ended: { ...(MANY as Extract<ResultMail['ended'], { phase: 'done' }>), view },
    topic: 'own_scans',
    organisation: 'Acme',
    links: {
      base: 'https://curbcut.example.com',
      choose: 'https://curbcut.example.com/dashboard/account/mails',
      stop: 'https://curbcut.example.com/unsubscribe/rT5wE7A6XVfbrSLyZ9Pp0bq0cJZf0yH1h8T2sQk3mN4/own_scans',
    },
    ...over,
  };
};

const SUMMARY: Parameters<typeof renderSummary>[0] = {
  weeks: [
    { site: 'shop.example.com', name: 'Shop', failed: false, passed: false, result: { score: 71.5, violations: 1240 }, before: 74.7 },
    { site: 'down.example.com', name: null, failed: true, passed: null, result: { score: 90, violations: 3 }, before: 90 },
    { site: 'good.example.com', name: null, failed: false, passed: true, result: { score: 100, violations: 0 }, before: 98.25 },
    { site: 'new.example.com', name: null, failed: false, passed: null, result: { score: 88, violations: 1 }, before: null },
  ],
  organisation: 'Acme',
  until: new Date('2026-11-23T07:00:00Z'),
  links: {
    base: 'https://curbcut.example.com',
    choose: 'https://curbcut.example.com/dashboard/account/mails',
    stop: 'https://curbcut.example.com/unsubscribe/rT5wE7A6XVfbrSLyZ9Pp0bq0cJZf0yH1h8T2sQk3mN4/weekly',
  },
};

const reader = (locale: Locale) => ({ ...context(locale), timeZone: 'Europe/Berlin' });

const NOTICE = {
  at: '2026-11-22T09:05:00Z',
  client: { network: '203.0.113.0/24', browser: 'Firefox on Linux' },
  url: 'https://curbcut.example.com/dashboard/account',
};

const OWNERS = {
  organisation: 'Acme',
  person: 'ada@example.com',
  subject: 'Pipeline',
  url: 'https://curbcut.example.com/dashboard/settings/api-keys',
};

const STOPPED = {
  organisation: 'Acme',
  webhook: 'Chat of the web team',
  host: 'hooks.example.com',
  since: '2026-11-17T09:05:00Z',
  url: 'https://curbcut.example.com/dashboard/settings/webhooks/3f2b8c1e-6a4d-4f0e-9b7a-1c2d3e4f5a6b',
};

const LINK = {
  url: 'https://curbcut.example.com/dashboard/reset-password/6XVfbrSLyZ9Pp0bq0cJZf0yH1h8T2sQk3mN4vR5wE7A',
  expiresAt: '2026-11-22T10:05:00Z',
};

export const context = (locale: Locale) => ({ locale, host: 'curbcut.example.com' });
