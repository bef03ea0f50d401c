/** The mails that the product has sent, as the mail catcher has them. */
import { eventually, type WholeProduct } from './product.ts';

export interface ReceivedMail {
  subject: string;
  html: string;
  text: string;
}

export async function mailsTo({ inboxUrl }: WholeProduct, address: string): Promise<ReceivedMail[]> {
  const answer = await fetch(`${inboxUrl}/api/mails?to=${encodeURIComponent(address)}`);
  return ((await answer.json()) as { data: ReceivedMail[] }).data;
}

/** Waits for the first mail to an address. */
export async function firstMailTo(product: WholeProduct, address: string): Promise<ReceivedMail> {
  const [mail] = await eventually(
    () => mailsTo(product, address),
    (mails) => mails.length > 0,
  );
  return mail!;
}
