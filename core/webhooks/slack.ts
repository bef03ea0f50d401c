/** Short messages for incoming webhooks of Slack: a text for notifications, and the same as a block with a link. Pure. */

/** Plain text. Names and messages of tested sites may contain anything. */
export interface SlackText {
  headline: string;
  /** One line each. */
  facts: readonly string[];
  link: { text: string; url: string } | null;
}

/** Slack's limit for the text of a section is 3,000 characters. */
const LINE_MAX = 400;

/** Slack's three control characters, so that no text becomes a link or a mention. */
const escaped = (text: string): string =>
  text.replace(/[&<>]/g, (character) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;' })[character]!).replace(/\s+/g, ' ');

const cut = (text: string): string => (text.length > LINE_MAX ? `${text.slice(0, LINE_MAX - 1)}…` : text);

export function slackMessage({ headline, facts, link }: SlackText): object {
  const lines = facts.map((fact) => escaped(cut(fact)));
  const title = escaped(cut(headline));
  const more = link === null ? [] : [`<${link.url}|${escaped(link.text)}>`];
  const text = [`*${title.replaceAll('*', '∗')}*`, ...lines, ...more].join('\n');
  return { text: [title, ...lines].join('\n'), blocks: [{ type: 'section', text: { type: 'mrkdwn', text } }] };
}
