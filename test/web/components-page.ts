/** Every component of the pages in its states, for tests. */
import { IMPACTS } from '../../core/scan/impacts.ts';
import * as ui from '../../api/web/components.ts';
import { html, type Html } from '../../report/html/html.ts';

const SAMPLE = '<img src="harbour.jpg">';

const section = (title: string, body: Html): Html =>
  html`<section class="section">
    <h2>${title}</h2>
    ${body}
  </section>`;

const buttons = (): Html =>
  ui.actions(
    ui.button({ text: 'Primary', kind: 'primary', type: 'button' }),
    ui.button({ text: 'Secondary', type: 'button' }),
    ui.button({ text: 'Danger', kind: 'danger', type: 'button' }),
    ui.button({ text: 'Quiet', kind: 'quiet', type: 'button' }),
    ui.button({ text: 'Disabled', type: 'button', disabled: true }),
    ui.linkButton({ text: 'Link button', href: '/components' }),
  );

const fields = (): Html =>
  html`${ui.errorSummary([
    { field: 'design-url', text: 'Enter an address that starts with https:// or http://.' },
    { field: null, text: 'An error of the whole form.' },
  ])}
    <form method="get" action="/components" novalidate>
      ${ui.textField({ name: 'design-name', label: 'Name', hint: 'A name that your team recognises.', required: true, width: 'medium' })}
      ${ui.textField({ name: 'design-url', label: 'Address', type: 'url', value: 'htp://example.com', error: 'Enter an address that starts with https:// or http://.', required: true })}
      ${ui.textArea({ name: 'design-note', label: 'Note', value: 'Two\nlines', rows: 3 })}
      ${ui.selectField({ name: 'design-level', label: 'Level', value: 'AA', required: true, choices: ['A', 'AA', 'AAA'].map((value) => ({ value, text: value })) })}
      ${ui.choices({
        name: 'design-scope',
        label: 'Scopes',
        type: 'checkbox',
        required: true,
        values: ['read'],
        choices: [
          { value: 'read', text: 'Read scans', hint: 'See scans and download reports.' },
          { value: 'write', text: 'Start scans' },
        ],
      })}
      ${ui.choices({
        name: 'design-expiry',
        label: 'Expiry',
        type: 'radio',
        required: true,
        values: [],
        error: 'Select when the key expires.',
        choices: [
          { value: '90', text: 'In 90 days' },
          { value: 'never', text: 'Never' },
        ],
      })}
      ${ui.checkbox({ name: 'design-agree', label: 'Send me the result by e-mail', required: true, checked: true })}
      ${ui.button({ text: 'Save', kind: 'primary' })}
    </form>`;

const badges = (): Html =>
  html`<p>${(['good', 'bad', 'warn', 'note', 'plain'] as const).map((kind) => html`${ui.badge(kind, `Badge ${kind}`)} `)}</p>
    <p>${IMPACTS.map((impact) => html`${ui.severityBadge(impact)} `)}</p>
    ${ui.severityCounts({ critical: 2, serious: 14, moderate: 0, minor: 1203 })}`;

const notices = (): Html =>
  html`${(['note', 'good', 'warn', 'bad'] as const).map((kind) =>
    ui.notice({ kind, title: `Notice ${kind}`, body: html`<p>One sentence, with <a href="/components">a link</a>.</p>` }),
  )}`;

const data = (): Html =>
  html`${ui.breadcrumb([{ text: 'Scans', href: '/components' }, { text: 'example.com' }])}
  ${ui.tabs('Parts of a scan', [
    { text: 'Root causes', href: '/components', current: true },
    { text: 'Pages', href: '/components#pages' },
  ])}
  ${ui.table({
    id: 'design-table',
    caption: 'Pages',
    columns: [{ text: 'Page' }, { text: 'State' }, { text: 'Violations', numeric: true }, { text: 'Actions', hidden: true }],
    rows: [
      ['/visit', ui.badge('good', 'Done'), '12', ui.button({ text: 'Open', hiddenText: '/visit', kind: 'quiet', type: 'button' })],
      ['/events', ui.badge('note', 'Queued'), '0', ui.button({ text: 'Open', hiddenText: '/events', kind: 'quiet', type: 'button' })],
    ],
  })}
  ${ui.pagination({ previous: '/components?page=1', next: '/components?page=3' })}
  ${ui.definitions([
    ['Address', 'https://example.com/'],
    ['Tested', ui.time('2026-01-31T09:05:00Z')],
  ])}
  ${ui.emptyState({ title: 'No scans yet', text: 'Start a scan to see it here.', action: ui.actions(ui.linkButton({ text: 'New scan', href: '/components' })) })}`;

const blocks = (): Html =>
  html`<div class="columns">
      ${ui.card({ title: 'Card', body: html`<p>A card groups what belongs together.</p>` })}
      ${ui.card({ title: 'Score', body: ui.figure({ value: '87.5', of: '/ 100', label: 'Score', kind: 'good' }) })}
    </div>
    ${ui.progress({ id: 'design-progress', label: 'Testing pages', value: 3, max: 5, text: '3 of 5 pages tested' })}
    ${ui.progress({ id: 'design-waiting', label: 'Waiting', value: null, max: 1, text: 'Position 4 in the queue' })}
    ${ui.code({ id: 'design-code', text: SAMPLE, label: 'Element' })}
    ${ui.code({ id: 'design-whole', text: 'curl "$CURBCUT_URL/healthz" \\\n  -i', label: 'Command', whole: true })}
    ${ui.contrast({ foreground: '#777777', background: '#fafafa', ratio: 4.29, required: 4.5, font_size_px: 16 })}
    ${ui.code({ id: 'design-selector', text: 'main > img:nth-child(2)', label: 'Selector', inline: true })}
    ${ui.chartFrame({
      caption: 'Score of the last three scans',
      svg: html`<svg viewBox="0 0 300 80" role="img" aria-label="The score rose from 60 to 90.">
        <path class="chart-grid" d="M0 70h300" />
        <path class="chart-line" d="M10 60 150 40 290 15" />
        <path class="chart-dots" d="M10,60h0M150,40h0" />
        <circle class="chart-point" cx="290" cy="15" r="5" />
      </svg>`,
      tableSummary: 'Show the figures as a table',
      table: ui.table({
        id: 'design-chart',
        caption: 'Scores',
        columns: [{ text: 'Scan' }, { text: 'Score', numeric: true }],
        rows: [
          ['1', '60'],
          ['2', '75'],
          ['3', '90'],
        ],
      }),
    })}
    ${ui.confirmedForm({
      id: 'design-confirm',
      action: '/components',
      trigger: { text: 'Revoke', kind: 'danger', hiddenText: 'key CI' },
      title: 'Revoke the key CI?',
      text: 'Programs that use it stop working at once.',
      confirm: 'Revoke',
      cancel: 'Keep',
    })}`;

/** Every component in its states, as the main part of a page. */
export const components = (): Html => html`<h1>Components</h1>
  <div class="stack">
    ${section('Buttons', buttons())}${section('Forms', fields())}${section('Badges and severities', badges())}
    ${section('Notices', notices())}${section('Navigation and data', data())}${section('Blocks', blocks())}
  </div>`;
