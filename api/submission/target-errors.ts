/** Renders a refused target as an item of a validation error. */
import type { ScanUrlJudgement, ScanUrlRefusal } from '../../core/scan/targets.ts';
import type { ValidationItem, ValidationType } from '../errors.ts';

const TYPES: Readonly<Record<ScanUrlRefusal, ValidationType>> = {
  not_a_url: 'string.uri',
  too_long: 'string.max_length',
  scheme: 'url.scheme',
  credentials: 'url.credentials',
  port: 'url.port',
  private_address: 'url.private_address',
  unresolvable: 'url.unresolvable',
  dns_unavailable: 'url.unresolvable',
};

export function targetItem({ reason, message }: Extract<ScanUrlJudgement, { ok: false }>): ValidationItem {
  return { loc: ['body', 'url'], msg: message, type: TYPES[reason] };
}
