/** Messages for incoming webhooks of chat programs. They say the same, and differ in their form. Pure. */
import type { WebhookFormat } from './webhooks.ts';

/** Plain text. Names and messages of tested sites may contain anything. */
export interface ChatText {
  headline: string;
  /** One line each. */
  facts: readonly string[];
  link: { text: string; url: string } | null;
}

/** Of one line, in characters after escaping. Slack's limit for the text of a section is 3,000, and that of a message of Teams 28 KB. */
const LINE_MAX = 400;

/** What is written instead of a character, so that no text becomes a link, a mention or bold. */
type Replaced = Readonly<Record<string, string>>;

const SLACK: Replaced = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '*': '∗' };

/** Adaptive Cards know no escape for their Markdown. */
const TEAMS: Replaced = { '<': '‹', '>': '›', '[': '［', ']': '］', '*': '∗' };

/** Mattermost reads `<!channel>` as Slack does, and makes links of addresses. Other marks of its Markdown are escaped. */
const MATTERMOST: Replaced = {
  ...{ '<': '‹', '>': '›', '@': '＠', ':': '∶' },
  ...Object.fromEntries(Array.from('\\`*_[]#-.~|', (mark) => [mark, `\\${mark}`])),
};

/** Makes one line of a text. */
function lineOf(text: string, replaced: Replaced): string {
  let line = '';
  for (const character of text.replace(/\s+/g, ' ')) {
    const next = replaced[character] ?? character;
    // Whole entities and whole characters.
    if (line.length + next.length >= LINE_MAX) return `${line}…`;
    line += next;
  }
  return line;
}

const linesOf = ({ headline, facts, link }: ChatText, replaced: Replaced) => ({
  title: lineOf(headline, replaced),
  lines: facts.map((fact) => lineOf(fact, replaced)),
  link: link && { url: link.url, text: lineOf(link.text, replaced) },
});

function slackMessage(chat: ChatText): object {
  const { title, lines, link } = linesOf(chat, SLACK);
  const text = [`*${title}*`, ...lines, ...(link === null ? [] : [`<${link.url}|${link.text}>`])].join('\n');
  // Verbatim: Slack makes no links of names, channels and addresses in the text.
  return { text: [title, ...lines].join('\n'), blocks: [{ type: 'section', text: { type: 'mrkdwn', text, verbatim: true } }] };
}

/** An Adaptive Card, as the workflow "Post to a channel when a webhook request is received" takes it. A mention would need `msteams.entities`. */
function teamsMessage(chat: ChatText): object {
  const { title, lines, link } = linesOf(chat, TEAMS);
  const block = (text: string): object => ({ type: 'TextBlock', text, wrap: true });
  const content = {
    $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
    type: 'AdaptiveCard',
    version: '1.2',
    body: [{ ...block(title), weight: 'Bolder', size: 'Medium', style: 'heading' }, ...lines.map(block)],
    actions: link === null ? [] : [{ type: 'Action.OpenUrl', title: link.text, url: link.url }],
  };
  return { type: 'message', attachments: [{ contentType: 'application/vnd.microsoft.card.adaptive', contentUrl: null, content }] };
}

function mattermostMessage(chat: ChatText): object {
  const { title, lines, link } = linesOf(chat, MATTERMOST);
  return { text: [`**${title}**`, ...lines, ...(link === null ? [] : [`[${link.text}](${link.url})`])].join('\n') };
}

export const CHAT_FORMATS: Readonly<Record<Exclude<WebhookFormat, 'json'>, (chat: ChatText) => object>> = {
  slack: slackMessage,
  teams: teamsMessage,
  mattermost: mattermostMessage,
};
