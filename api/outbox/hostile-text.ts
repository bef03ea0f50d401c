/** Texts from tested pages and other people, made safe for mails. */

/** Characters that change the direction of the text around them, or that nobody sees. */
const DECEPTIVE = /[\u200B-\u200F\u202A-\u202E\u2060-\u2069\uFEFF]/gu;

/** One line without control characters, at most `max` characters. For subjects, too. */
export function oneLine(text: string, max: number): string {
  const line = text
    .replace(/[\p{Cc}\s]+/gu, ' ')
    .replace(DECEPTIVE, '')
    .trim();
  const characters = [...line];
  return characters.length <= max ? line : `${characters.slice(0, max - 1).join('')}…`;
}

/**
 * The HTML of an element of the tested page as text. Mail programs make links of addresses in texts, which must not happen with
 * addresses that a stranger's page contains: an invisible word joiner follows each character that makes an address of a text.
 */
export function elementText(html: string, max = 240): string {
  return oneLine(html, max).replace(/(?<=\S)[.:@](?=\S)/g, (mark) => `${mark}\u2060`);
}
