/** The whole product of a run, for the tests that neither break it nor mind what others leave: scans, sites, keys. */
import { startWholeProduct, type WholeProduct } from './product.ts';

let shared: Promise<WholeProduct> | undefined;

/** The first test that needs it starts it. */
export const sharedProduct = (): Promise<WholeProduct> => (shared ??= startWholeProduct());

after('stop the shared product', async () => {
  await (await shared)?.close();
});
