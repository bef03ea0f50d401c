/** Makes the message of a mail in the outbox: reads what it is about, renders it, and adds the headers. */
import { createHash } from 'node:crypto';
import { ACCOUNT_PATH, resultPath, unsubscribePath } from '../../core/web-paths.ts';
import type { ClaimedMail, NewMail } from '../../stores/outbox/outbox.ts';
import type { Suppressions } from '../../stores/outbox/suppressions.ts';
import type { PublicScans } from '../../stores/scans/public-scans.ts';
import type { Reports } from '../../stores/reports.ts';
import type { ScanRow, Scans } from '../../stores/scans/scans.ts';
import type { Compose } from './mail-transport.ts';
import {
  renderAccountNotice,
  renderInvitation,
  renderPasswordReset,
  renderScanResult,
  renderWebhookStopped,
  type Rendered,
  type ResultMail,
} from './mail-contents.ts';
import type { Message } from './smtp.ts';

export interface ComposeDeps {
  publicScans: Pick<PublicScans, 'findByScan'>;
  scans: Pick<Scans, 'find'>;
  reports: Pick<Reports, 'readView'>;
  suppressions: Pick<Suppressions, 'tokenFor'>;
  /** Without a slash at its end. */
  publicBaseUrl: string;
}

type Content = { rendered: Rendered; headers: Record<string, string> };

/** The time limit of reading a view. */
const READ_MS = 30_000;

export function createCompose(deps: ComposeDeps): Compose {
  const { hostname } = new URL(deps.publicBaseUrl);
  return async ({ mail, createdAt }: ClaimedMail) => {
    const content = await contentOf(deps, mail);
    if (content === null) return { ok: false, reason: 'gone' };
    const { rendered, headers } = content;
    const message: Message = {
      messageId: messageIdOf(mail.id, hostname),
      date: createdAt,
      to: mail.to,
      ...rendered,
      // RFC 3834: no out-of-office replies.
      headers: { 'Auto-Submitted': 'auto-generated', ...headers },
    };
    return { ok: true, message };
  };
}

/** The same for each attempt, so that receivers recognise a repeated delivery. The id of a mail may be the secret of a link. */
export function messageIdOf(id: string, hostname: string): string {
  const domain = hostname.replace(/^\[|\]$/g, '').replaceAll(':', '-');
  return `<${createHash('sha256').update(id).digest('hex').slice(0, 40)}@${domain}>`;
}

async function contentOf(deps: ComposeDeps, mail: NewMail): Promise<Content | null> {
  const context = { locale: mail.locale, host: new URL(deps.publicBaseUrl).host };
  switch (mail.kind) {
    case 'invitation':
      return { rendered: renderInvitation(mail.data, context), headers: {} };
    case 'password_reset':
      return { rendered: renderPasswordReset(mail.data, context), headers: {} };
    case 'account_notice':
      return { rendered: renderAccountNotice({ ...mail.data, url: deps.publicBaseUrl + ACCOUNT_PATH }, context), headers: {} };
    case 'webhook_stopped':
      return { rendered: renderWebhookStopped({ ...mail.data, url: deps.publicBaseUrl + mail.data.path }, context), headers: {} };
    case 'scan_result': {
      const { publicScans, scans, suppressions, publicBaseUrl } = deps;
      const { scanId } = mail.data;
      const [publicScan, row] = [await publicScans.findByScan(scanId), await scans.find(scanId)];
      if (publicScan === null || row === null) return null;
      const ended = await endOf(deps, row);
      if (ended === null) return null;
      const unsubscribeUrl = publicBaseUrl + unsubscribePath(await suppressions.tokenFor(mail.to, mail.locale));
      const resultUrl = publicBaseUrl + resultPath(mail.locale, publicScan.token);
      // The address that was tested: http:// if the host does not answer over https, or where it redirects to.
      const url = (ended.phase === 'done' && ended.view?.pages[0]?.url) || publicScan.url;
      const result = { url, at: row.finishedAt ?? row.updatedAt, ended, resultUrl, unsubscribeUrl };
      return { rendered: renderScanResult(result, context), headers: unsubscribeHeaders(unsubscribeUrl) };
    }
  }
}

/** RFC 8058: mail programs show a button that posts to the address. They require https. */
const unsubscribeHeaders = (url: string): Record<string, string> => ({
  'List-Unsubscribe': `<${url}>`,
  'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
});

async function endOf({ reports }: ComposeDeps, { id, phase, outcome, reason, message }: ScanRow): Promise<ResultMail['ended'] | null> {
  if (phase === 'canceled') return { phase };
  if (phase === 'failed') return { phase, reason, message };
  if (phase !== 'done' || outcome === null) return null;
  return { phase, outcome, view: await reports.readView(id, AbortSignal.timeout(READ_MS)) };
}
