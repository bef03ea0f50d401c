/** What is sent for an event, as text, in the format of the endpoint. Pure. */
import { CHAT_FORMATS, type ChatText } from './chat.ts';
import type { DeliveredEvent, WebhookFormat } from './webhooks.ts';

/** An event, before it is written in a format. */
export interface EventContent {
  type: DeliveredEvent;
  /** When it happened. */
  at: Date;
  /** `data` of the body. */
  data: object;
  /** What a message in a chat says, in every format. */
  chat: ChatText;
}

/** The text of the body. It never changes after that, so that every attempt has the same body. */
export function bodyOf({ type, at, data, chat }: EventContent, format: WebhookFormat): string {
  return JSON.stringify(format === 'json' ? { type, timestamp: at.toISOString(), data } : CHAT_FORMATS[format](chat));
}

/** The event of the test button. */
export function testContent(endpoint: { id: string; name: string }, at: Date): EventContent {
  return {
    type: 'webhook.test',
    at,
    data: { webhook: endpoint },
    chat: { headline: `Test of the webhook ${endpoint.name}`, facts: ['Messages of Curbcut arrive here.'], link: null },
  };
}
