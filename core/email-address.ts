/** The syntax of e-mail addresses that mails are sent to. */

/** The longest address that mail servers accept, in characters (RFC 5321). */
export const EMAIL_MAX_LENGTH = 254;
const LOCAL_PART_MAX_LENGTH = 64;

/** A dot-atom of RFC 5322, with the letters of every language (RFC 6532). Quoted local parts are not accepted: no one has one. */
const LOCAL_PART = /^[\p{L}\p{N}!#$%&'*+/=?^_`{|}~-]+(?:\.[\p{L}\p{N}!#$%&'*+/=?^_`{|}~-]+)*$/u;
const LABEL = /^[\p{L}\p{N}](?:[\p{L}\p{N}-]{0,61}[\p{L}\p{N}])?$/u;

/**
 * The mailbox of an address, for limits: in lower case and without the tag after `+`, because `name+1@example.com` and
 * `name+2@example.com` usually reach the same person.
 */
export function mailboxOf(address: string): string {
  const [local, domain] = [address.slice(0, address.lastIndexOf('@')), domainOf(address)];
  const tag = local.indexOf('+', 1);
  return `${(tag === -1 ? local : local.slice(0, tag)).toLowerCase()}@${domain}`;
}

/** The domain of an address in lower case. */
export const domainOf = (address: string): string => address.slice(address.lastIndexOf('@') + 1).toLowerCase();

/** Returns whether a text is an address of a domain with at least two labels, such as `name@example.com`. */
export function isEmailAddress(text: string): boolean {
  const at = text.lastIndexOf('@');
  const local = text.slice(0, at);
  const labels = text.slice(at + 1).split('.');
  if (at < 1 || text.length > EMAIL_MAX_LENGTH || local.length > LOCAL_PART_MAX_LENGTH) return false;
  const isAddress = labels.length === 4 && labels.every((label) => /^\d+$/.test(label));
  return LOCAL_PART.test(local) && labels.length > 1 && labels.every((label) => LABEL.test(label)) && !isAddress;
}
