/** The generated files of the site: a PDF, a calendar, audio and captions. */
import type { Lang } from './page.ts';

/** A PDF of one page with two lines of text. */
export function programme(): Buffer {
  const content = 'BT /F1 24 Tf 72 740 Td (Lindenau Town Library) Tj 0 -40 Td /F1 14 Tf (Programme of this summer) Tj ET';
  const objects = [
    '<< /Type /Catalog /Pages 2 0 R /Lang (en) >>',
    '<< /Type /Pages /Kids [3 0 R] /Count 1 >>',
    '<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>',
    `<< /Length ${content.length} >>\nstream\n${content}\nendstream`,
    '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>',
  ];
  let file = '%PDF-1.4\n';
  const offsets = objects.map((object, i) => {
    const offset = file.length;
    file += `${i + 1} 0 obj\n${object}\nendobj\n`;
    return offset;
  });
  const table = file.length;
  file += `xref\n0 ${objects.length + 1}\n0000000000 65535 f \n${offsets.map((offset) => `${String(offset).padStart(10, '0')} 00000 n \n`).join('')}`;
  file += `trailer\n<< /Size ${objects.length + 1} /Root 1 0 R >>\nstartxref\n${table}\n%%EOF\n`;
  return Buffer.from(file, 'latin1');
}

/** Three strokes of a bell, 2.4 s of 8-bit mono at 8 kHz. */
export function bell(): Buffer {
  const rate = 8000;
  const samples = Buffer.alloc(rate * 2.4);
  for (let i = 0; i < samples.length; i++) {
    const stroke = Math.floor(i / (rate * 0.8));
    const t = (i % (rate * 0.8)) / rate;
    const tone = [880, 784, 659][stroke]!;
    samples[i] = Math.round(128 + 90 * Math.exp(-4 * t) * Math.sin(2 * Math.PI * tone * t));
  }
  const header = Buffer.alloc(44);
  header.write('RIFF', 0);
  header.writeUInt32LE(36 + samples.length, 4);
  header.write('WAVEfmt ', 8);
  header.writeUInt32LE(16, 16);
  header.writeUInt16LE(1, 20);
  header.writeUInt16LE(1, 22);
  header.writeUInt32LE(rate, 24);
  header.writeUInt32LE(rate, 28);
  header.writeUInt16LE(1, 32);
  header.writeUInt16LE(8, 34);
  header.write('data', 36);
  header.writeUInt32LE(samples.length, 40);
  return Buffer.concat([header, samples]);
}

/** A calendar file with one event. */
export function calendar(): string {
  return [
    'BEGIN:VCALENDAR',
    'VERSION:2.0',
    'PRODID:-//Lindenau//Library//EN',
    'BEGIN:VEVENT',
    'UID:long-night@lindenau.example',
    'DTSTAMP:20310601T080000Z',
    'DTSTART:20310621T160000Z',
    'SUMMARY:Long night of the library',
    'END:VEVENT',
    'END:VCALENDAR',
    '',
  ].join('\r\n');
}

/** Captions of the tour. */
export function captions(lang: Lang): string {
  const lines =
    lang === 'en' ? ['Welcome to the market square.', 'The door opens by itself.'] : ['Willkommen am Markt.', 'Die Tür öffnet von selbst.'];
  return `WEBVTT\n\n00:00.000 --> 00:02.000\n${lines[0]}\n\n00:02.000 --> 00:04.000\n${lines[1]}\n`;
}
