/** Example bodies for the OpenAPI document. The tests check each against the schema of its response. */
import { withDefaults } from '../../core/scan/options.ts';
import { scoreAndCounts } from '../../core/scan/result.ts';
import { errorDocsPath } from '../../core/web-paths.ts';
import { toSubmittedOptions } from '../../core/scan/submitted-options.ts';

const REQUEST = 'b1f4c7de-3a0b-4c55-8f5e-2d9a6c1e7f30';
const SCAN = '3f2b8c1e-6a4d-4f0e-9b7a-1c2d3e4f5a6b';

const FINDINGS = scoreAndCounts({ score: 87.5, violations: { total: 12, critical: 1, serious: 4, moderate: 5, minor: 2 } });
const REPORT_URL = `/v1/scans/${SCAN}/report`;
const MISSED = 'The score is 87.5, below the minimum of 90.';

const scanning = {
  scan_id: SCAN,
  status: 'scanning',
  ...scoreAndCounts(null),
  passed: null,
  report_url: null,
  message: null,
  url: 'https://www.example.com/',
  ...toSubmittedOptions(withDefaults({ url: 'https://www.example.com/', thresholds: { minScore: 90 } })),
  metadata: { branch: 'main', commit: '4f371ac9' },
  submitted_at: '2026-03-02T10:00:00.000Z',
  started_at: '2026-03-02T10:00:04.000Z',
  finished_at: null,
  pages_requested: 5,
  pages_reserved: 5,
  pages_tested: 3,
  pages_charged: null,
  coverage: null,
  baseline: null,
  known_issues: null,
  auth: null,
  test: false,
};
const { options: _options, ...listed } = scanning;
const ended = { finished_at: '2026-03-02T10:05:00.000Z', pages_charged: 3 };
const queued = { ...scanning, status: 'queued', started_at: null, pages_tested: 0, queue: { name: 'default', position: 3, waiting: 12 } };
const passed = { ...scanning, ...ended, status: 'done', ...FINDINGS, passed: true, report_url: REPORT_URL, coverage: 100 };
const missed = { ...passed, passed: false, message: MISSED };
const failed = {
  ...scanning,
  ...ended,
  status: 'failed',
  pages_tested: 0,
  pages_charged: 0,
  passed: false,
  message: 'The first page could not be loaded. Nothing was charged.',
};

const token = 'kO4JtY1m8Jr0a7QyXHkq3lq6zT0sM2wS9vB5uC8dE1f';
const publicScan = { token, status: 'scanning', url: 'https://example.com/', violation_count: null, issues: [], truncated: false };
const issue = {
  rule: 'image-alt',
  impact: 'critical',
  help: 'Images must have alternative text',
  help_url: 'https://dequeuniversity.com/rules/axe/4.11/image-alt',
  wcag: ['1.1.1'],
  selector: 'main > img',
  html: '<img src="/logo.png">',
};

const key = {
  id: '0d6d0a52-6a0b-4a43-9d7e-0e6a1f4f2b11',
  name: 'Pipeline',
  last4: 'XXXX',
  scopes: ['scans:read', 'scans:write'],
  test: false,
  created_at: '2026-03-02T10:00:00.000Z',
  created_by: 'ann@example.com',
  expires_at: null,
};

const webhook = {
  id: '8c1f0a52-6a0b-4a43-9d7e-0e6a1f4f2b77',
  name: 'Chat of the web team',
  url: 'https://hooks.example.com/curbcut',
  events: ['scan.completed', 'scan.failed'],
  format: 'json',
  credits_below: 100,
  managed_by: 'api',
  enabled: true,
  disabled_reason: null,
  disabled_at: null,
  failing_since: null,
  created_at: '2026-03-02T10:00:00.000Z',
  created_by: 'ann@example.com',
};
const delivery = {
  id: 'msg_5f0c1d2e3a4b5c6d7e8f90a1b2c3d4e5',
  message_id: 'msg_5f0c1d2e3a4b5c6d7e8f90a1b2c3d4e5',
  event: 'scan.completed',
  scan_id: SCAN,
  status: 'waiting',
  created_at: '2026-03-02T10:05:01.000Z',
  next_attempt_at: '2026-03-02T10:05:12.000Z',
  attempts: [
    {
      at: '2026-03-02T10:05:02.000Z',
      duration_ms: 38,
      status_code: 503,
      error: 'The endpoint answered 503.',
      response: 'restarting',
    },
  ],
  body: JSON.stringify({ type: 'scan.completed', timestamp: ended.finished_at, data: missed }),
};

const knownIssue = {
  id: '5b0c7f3e-0f0a-4f0e-8f6b-2a9d1c3e4f50',
  site: 'www.example.com',
  kind: 'accepted',
  fingerprint: '8f14e45fceea167a',
  rule: null,
  selector: null,
  reason: 'The supplier of the player fixes it in version 3.',
  owner: 'video team',
  expires_at: '2026-06-30T12:00:00.000Z',
  status: 'live',
  created_by: 'ann@example.com',
  created_at: '2026-03-02T10:00:00.000Z',
  manifest: null,
};

const schedule = {
  id: 'curbcut-scans/example-com-5f0c1d2e',
  namespace: 'curbcut-scans',
  name: 'example-com-5f0c1d2e',
  display_name: 'Shop, every night',
  schedule: '30 2 * * 1-5',
  time_zone: 'Europe/Berlin',
  suspended: false,
  url: 'https://example.com/',
  max_pages: 50,
  source: { by: 'api', tool: null, application: null, writer: null },
  next_at: '2026-03-03T01:30:00.000Z',
  last_scan: { scan_id: SCAN, status: 'done', passed: false, ended_at: ended.finished_at },
  active_scans: 0,
  regressed: null,
  stalled: null,
  observed_at: '2026-03-02T10:05:00.000Z',
};

export const EXAMPLES = {
  accepted: {
    scan_id: SCAN,
    status: 'queued',
    status_url: `/v1/ci/scans/${SCAN}`,
    message: 'The scan is queued.',
    pages_requested: 5,
    pages_reserved: 5,
  },
  result: { queued, scanning, passed, missed, failed },
  scans: {
    data: [listed],
    next_cursor: 'WzE3NzI0NDU2MDAwMDAsIjNmMmI4YzFlIl0',
  },
  sites: {
    data: [
      {
        site: 'www.example.com',
        name: 'Shop',
        options: { max_pages: 5, wcag_version: '2.1', wcag_level: 'AA', own_rules: false, signed_in: false },
        result: listed,
        newest_scan: { scan_id: SCAN, status: 'done', finished_at: ended.finished_at },
        next_run_at: '2026-03-03T01:30:00.000Z',
      },
    ],
    next_cursor: null,
  },
  events: {
    progress: { event: 'progress', status: 'scanning', scan_id: SCAN, pages_scanned: 3, pages_total: 12, message: null },
    complete: { event: 'complete', scan_id: SCAN, status: 'done', ...FINDINGS, passed: false, message: MISSED },
  },
  publicScan: {
    accepted: { token, estimated_seconds: 45 },
    scanning: publicScan,
    done: { ...publicScan, status: 'done', violation_count: 1, issues: [issue] },
  },
  reportLink: { url: `https://objects.example.com/reports/scans/${SCAN}/report.pdf?X-Amz-Signature=5f0c`, expires_in: 3600 },
  ledger: {
    data: [
      { id: `refund:${SCAN}`, at: '2026-03-02T10:05:00.000Z', kind: 'refund', pages: 2, balance: 97, scan_id: SCAN },
      { id: `settle:${SCAN}`, at: '2026-03-02T10:05:00.000Z', kind: 'settle', pages: 3, balance: 95, scan_id: SCAN },
      { id: `reserve:${SCAN}`, at: '2026-03-02T10:00:00.000Z', kind: 'reserve', pages: 5, balance: 95, scan_id: SCAN },
      { id: 'grant:welcome', at: '2026-03-01T09:00:00.000Z', kind: 'grant', pages: 100, balance: 100, scan_id: null },
    ],
    next_cursor: null,
  },
  credits: { balance: 95, plan: 'team', setup_complete: true },
  // Not a key: its checksum is wrong.
  issuedKey: { ...key, key: `svc_live_${'X'.repeat(38)}` },
  keys: {
    data: [
      {
        ...key,
        status: 'live',
        limited_by: { email: 'ann@example.com', role: 'member', left: false },
        last_used_at: '2026-03-02T10:05:00.000Z',
      },
    ],
    next_cursor: null,
  },
  webhook,
  webhooks: { data: [webhook], next_cursor: null },
  // Not a secret: the Base64 form of zeros.
  issuedWebhook: { ...webhook, secret: `whsec_${'A'.repeat(43)}=` },
  delivery,
  deliveries: { data: [delivery], next_cursor: null },
  knownIssue,
  knownIssues: { data: [knownIssue], next_cursor: null },
  schedule: { ...schedule, scan: { url: schedule.url, max_pages: schedule.max_pages, min_score: 90 } },
  schedules: { data: [schedule], next_cursor: null },
  insufficientCredits: { balance: 3, pages_requested: 5 },
  requestId: REQUEST,
  validation: {
    detail: [{ loc: ['body', 'max_pages'], msg: 'max_pages must be at most 500.', type: 'number.maximum', bounds: { limit: 500 } }],
    docs_url: errorDocsPath(null),
    request_id: REQUEST,
  },
  me: {
    organisation: { id: 'acme', name: 'Acme Ltd', plan: 'team' },
    key: { id: key.id, expires_at: null, test: false },
    user: null,
    permissions: ['scans:read', 'scans:write'],
    max_pages: 500,
    rate_limits: [{ name: 'key', requests: 60, seconds: 60 }],
  },
} as const;
