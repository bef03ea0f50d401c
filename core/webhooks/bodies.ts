/** What is sent for an event, as text, in the format of the endpoint. Pure. */
import { slackMessage, type SlackText } from './slack.ts';
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
