/** What is sent for an event, as text, in the format of the endpoint. Pure. */
import type { DeliveredEvent, WebhookFormat } from './webhooks.ts';

/** An event, before it is written in a format. */
export interface EventContent {
  type: DeliveredEvent;
  /** When it happened. */
  at: Date;
  /** `data` of the body. */
  data: object;
  slack: SlackText;
}

/** The text of the body. It never changes after that, so that every attempt has the same body. */
export function bodyOf({ type, at, data, slack }: EventContent, format: WebhookFormat): string {
  return JSON.stringify(format === 'slack' ? slackMessage(slack) : { type, timestamp: at.toISOString(), data });
}

/** The event of the test button. */
export function testContent(endpoint: { id: string; name: string }, at: Date): EventContent {
  return {
    type: 'webhook.test',
    at,
    data: { webhook: endpoint },
    slack: { headline: `Test of the webhook ${endpoint.name}`, facts: ['Messages of Curbcut arrive here.'], link: null },
  };
}

/** Plain text. Names and messages of tested sites may contain anything. */
interface SlackText {
  headline: string;
  /** One line each. */
  facts: readonly string[];
  link: { text: string; url: string } | null;
}

/** Of one line, in characters after escaping. Slack's limit for the text of a section is 3,000. */
const LINE_MAX = 400;

/** Slack's control characters, so that no text becomes a link or a mention, and the mark of bold text. */
const REPLACED: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '*': '∗' };

/** Makes one line of a text. */
function lineOf(text: string): string {
  let line = '';
  for (const character of text.replace(/\s+/g, ' ')) {
    const next = REPLACED[character] ?? character;
    // Whole entities and whole characters.
    if (line.length + next.length >= LINE_MAX) return `${line}…`;
    line += next;
  }
  return line;
}

export function slackMessage({ headline, facts, link }: SlackText): object {
  const lines = facts.map(lineOf);
  const title = lineOf(headline);
  const more = link === null ? [] : [`<${link.url}|${lineOf(link.text)}>`];
  const text = [`*${title}*`, ...lines, ...more].join('\n');
  // Verbatim: Slack makes no links of names, channels and addresses in the text.
  return { text: [title, ...lines].join('\n'), blocks: [{ type: 'section', text: { type: 'mrkdwn', text, verbatim: true } }] };
}
