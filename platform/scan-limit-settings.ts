/** The limits on scans that API and operator read. */
import { Type } from 'typebox';
import { MAX_PAGES_CEILING } from '../core/scan/options.ts';

export const ScanLimitSettings = {
  MAX_PAGES_LIMIT: Type.Integer({
    minimum: 1,
    maximum: MAX_PAGES_CEILING,
    default: 500,
    description: `the maximum number of pages of one scan, from 1 to ${MAX_PAGES_CEILING}`,
  }),
};

/** The places of public scans, which API and operator read. */
export const PublicQueueSettings = {
  MAX_RUNNING_PUBLIC_SCANS: Type.Integer({
    minimum: 1,
    maximum: 10_000,
    default: 2,
    description: 'the maximum number of running public scans if the ScanQueue public does not set it, from 1 to 10000',
  }),
};
