/** Makes the message of a mail in the outbox: reads what it is about, renders it, and adds the headers. */
import { createHash } from 'node:crypto';
import { DEFAULT_LOCALE } from '../../core/scan/locales.ts';
import { ACCOUNT_PATH, MAILS_PATH, recipientPath, resultPath, stopMailsPath, unsubscribePath } from '../../core/web-paths.ts';
import type { MailTopic } from '../../stores/outbox/subscriptions.ts';
import type { MailEntry } from '../../stores/outbox/entries.ts';
import type { Reports } from '../../stores/reports.ts';
import type { ScanRow } from '../../stores/scans/scans.ts';
import type { AllStores } from '../../stores/stores.ts';
import type { LegalLinks } from '../web/legal.ts';
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
} from './mail-contents.ts';
import { renderScanEnded } from './scan-ended.ts';
import { type Subscriber, subscriberOf } from './subscriber.ts';
import { renderSummary, weekOf } from './weekly-summary.ts';
import type { Message } from './smtp.ts';

export interface ComposeContext {
  stores: AllStores;
  reports: Pick<Reports, 'readView'>;
  /** Without a slash at its end. */
  publicBaseUrl: string;
  legal?: LegalLinks;
}

type Content = { rendered: Rendered; headers: Record<string, string> };

/** The time limit of reading a view. */
const READ_MS = 30_000;

/** @returns null if what it was about does not exist any more */
export async function compose(context: ComposeContext, mail: MailEntry): Promise<Message | null> {
  const content = await contentOf(context, mail);
  if (content === null) return null;
  return {
    messageId: messageIdOf(mail._id, new URL(context.publicBaseUrl).hostname),
    date: mail.createdAt,
    to: mail.to,
    ...content.rendered,
    // RFC 3834: no out-of-office replies.
    headers: { 'Auto-Submitted': 'auto-generated', ...content.headers },
  };
}

/** The same for each attempt, so that receivers recognise a repeated delivery. The id of a mail may be the secret of a link. */
export function messageIdOf(id: string, hostname: string): string {
  const domain = hostname.replace(/^\[|\]$/g, '').replaceAll(':', '-');
  return `<${createHash('sha256').update(id).digest('hex').slice(0, 40)}@${domain}>`;
}

async function contentOf(about: ComposeContext, mail: MailEntry): Promise<Content | null> {
  const { stores, reports, publicBaseUrl, legal } = about;
  const locale = mail.locale ?? (await stores.users.find(mail.to))?.locale ?? DEFAULT_LOCALE;
  const context = { locale, host: new URL(publicBaseUrl).host, ...(legal && { legal }) };
  switch (mail.kind) {
    case 'invitation':
      return { rendered: renderInvitation(mail.data, context), headers: {} };
    case 'recipient_consent':
      return { rendered: renderConsent(mail.data, context), headers: {} };
    case 'password_reset':
      return { rendered: renderPasswordReset(mail.data, context), headers: {} };
    case 'account_notice':
      return { rendered: renderAccountNotice({ ...mail.data, url: publicBaseUrl + ACCOUNT_PATH }, context), headers: {} };
    case 'owner_notice':
      return { rendered: renderOwnerNotice({ ...mail.data, url: publicBaseUrl + mail.data.path }, context), headers: {} };
    case 'webhook_stopped':
      return { rendered: renderWebhookStopped({ ...mail.data, url: publicBaseUrl + mail.data.path }, context), headers: {} };
    case 'scan_ended': {
      const { topic, scanId, subscription, comparison } = mail.data;
      const reader = await subscriberOf(stores, subscription, topic);
      const row = reader && (await stores.scans.find(scanId, reader.organisation.id));
      const ended = row && (await endOf(reports, row));
      if (!reader || !row || !ended) return null;
      const links = linksOf(reader, topic, publicBaseUrl);
      const rendered = renderScanEnded(
        { row, ended, comparison, topic, links, organisation: reader.organisation.displayName },
        { ...context, ...reader },
      );
      return { rendered, headers: unsubscribeHeaders(links.stop) };
    }
    case 'weekly_summary': {
      const reader = await subscriberOf(stores, mail.data.subscription, 'weekly');
      if (reader === null) return null;
      const { id, displayName: organisation } = reader.organisation;
      const until = new Date(mail.data.until);
      const links = linksOf(reader, 'weekly', publicBaseUrl);
      const weeks = await weekOf(stores, id, until);
      if (weeks.length === 0) return null;
      return {
        rendered: renderSummary({ weeks, organisation, until, links }, { ...context, ...reader }),
        headers: unsubscribeHeaders(links.stop),
      };
    }
    case 'scan_result': {
      const { publicScans, scans, suppressions } = stores;
      const { scanId } = mail.data;
      const [publicScan, row] = [await publicScans.findByScan(scanId), await scans.find(scanId)];
      if (publicScan === null || row === null) return null;
      const ended = await endOf(reports, row);
      if (ended === null) return null;
      const unsubscribeUrl = publicBaseUrl + unsubscribePath(await suppressions.tokenFor(mail.to, locale));
      const resultUrl = publicBaseUrl + resultPath(locale, publicScan.token);
      // The address that was tested: http:// if the host does not answer over https, or where it redirects to.
      const url = (ended.phase === 'done' && ended.view?.pages[0]?.url) || publicScan.url;
      const result = { url, at: row.finishedAt ?? row.updatedAt, ended, resultUrl, unsubscribeUrl };
      return { rendered: renderScanResult(result, context), headers: unsubscribeHeaders(unsubscribeUrl) };
    }
  }
}

const linksOf = ({ token, isMember }: Subscriber, topic: MailTopic, base: string) => ({
  base,
  stop: base + stopMailsPath(token, topic),
  choose: base + (isMember ? MAILS_PATH : recipientPath(token)),
});

/** RFC 8058: mail programs show a button that posts to the address. They require https. */
const unsubscribeHeaders = (url: string): Record<string, string> => ({
  'List-Unsubscribe': `<${url}>`,
  'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
});

async function endOf(
  reports: ComposeContext['reports'],
  { id, phase, outcome, reason, message }: ScanRow,
): Promise<ResultMail['ended'] | null> {
  if (phase === 'canceled') return { phase };
  if (phase === 'failed') return { phase, reason, message };
  if (phase !== 'done' || outcome === null) return null;
  return { phase, outcome, view: await reports.readView(id, AbortSignal.timeout(READ_MS)) };
}
