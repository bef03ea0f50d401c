/** Pictures of elements for tests: a real JPEG, and how it is stored. */
import { PICTURES_TYPE } from '../../core/protocol/pod-messages.ts';
import { reportKeys } from '../../report/schema/objects.ts';
import type { ApiContext } from '../api/context.ts';
import { sharedBrowser } from './browser.ts';

/** The size of the picture in pixels. */
export const PICTURE_SIZE = { width: 480, height: 200 };

/** Takes a picture of an element in its surroundings. */
export async function takePicture(): Promise<Uint8Array> {
  const page = await (await sharedBrowser()).newPage({ viewport: PICTURE_SIZE });
  try {
    await page.setContent(
      '<body style="font:16px sans-serif;background:#fff"><h1>Museum shop</h1><p style="color:#999;outline:3px solid #d00">Open on Monday</p><p>Free entry</p>',
    );
    return await page.screenshot({ type: 'jpeg', quality: 60 });
  } finally {
    await page.close();
  }
}

/** Stores the pictures of a scan as one object, with a few bytes before the picture. @returns the place of the picture */
export async function storePicture(context: ApiContext, scanId: string, picture: Uint8Array): Promise<{ offset: number; bytes: number }> {
  const before = Buffer.from('another picture');
  const link = await context.stores.reports.uploadLink(reportKeys(scanId).pictures, PICTURES_TYPE, 60);
  const body = Buffer.concat([before, picture]);
  const put = await fetch(link, { method: 'PUT', body, headers: { 'content-type': PICTURES_TYPE } });
  if (!put.ok) throw new Error(`the pictures were not stored: ${put.status}`);
  return { offset: before.byteLength, bytes: picture.byteLength };
}
