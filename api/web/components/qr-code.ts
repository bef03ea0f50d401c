/** A QR code as SVG: dark on light in both modes, because many readers do not read the reverse. */
import encode from 'qr';
import { attributes, html, type Html } from '../html.ts';

/** The empty modules around the code that readers need. */
const BORDER = 4;

/** @param label what it contains, for screen readers */
export function qrCode(text: string, label: string): Html {
  const rows = encode(text, 'raw', { border: BORDER });
  const path = rows.flatMap((row, y) => row.flatMap((dark, x) => (dark ? [`M${x} ${y}h1v1h-1z`] : []))).join('');
  return html`<svg${attributes({ class: 'qr-code', viewBox: `0 0 ${rows.length} ${rows.length}`, role: 'img', 'aria-label': label, 'shape-rendering': 'crispEdges' })}>
    <rect width="100%" height="100%" fill="#fff" /><path d="${path}" fill="#000" />
  </svg>`;
}
