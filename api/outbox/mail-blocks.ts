/** The content of a mail as blocks, which become both its HTML and its text, so that neither lacks anything. */
import { LIGHT } from '../../core/colors.ts';
import type { Impact } from '../../core/scan/impacts.ts';
import { isDrawable, type ContrastText } from '../../report/view/sentences.ts';
import { button, code, h1, h2, html, labelled, link, paragraph, SANS, small, type Html } from './mail-layout.ts';

export type Block =
  | { is: 'h1'; text: string }
  | { is: 'h2'; text: string }
  | { is: 'paragraph'; text: string }
  | { is: 'labelled'; label: string; text: string }
  /** A text in another language than the mail. */
  | { is: 'foreign'; label: string; text: string; lang: string }
  | { is: 'figure'; label: string; text: string }
  | { is: 'steps'; items: readonly string[] }
  | { is: 'links'; items: readonly { text: string; url: string }[] }
  /** Numbers by severity with a heading for each column. */
  | { is: 'table'; columns: readonly [string, string]; rows: readonly (readonly [name: string, value: string])[] }
  | { is: 'finding'; impact: Impact; severity: string; title: string; elements: string; parts: readonly FindingPart[] }
  | { is: 'button'; text: string; url: string; fallback: string }
  | { is: 'small'; text: string }
  | { is: 'link'; text: string; url: string };

export type FindingPart = { label: string; text: string } | { label: string; code: string } | { contrast: ContrastText };

export const toHtml = (blocks: readonly Block[]): Html => html`${blocks.map(blockHtml)}`;

function blockHtml(block: Block): Html {
  switch (block.is) {
    case 'h1':
      return h1(block.text);
    case 'h2':
      return h2(block.text);
    case 'paragraph':
      return paragraph(block.text);
    case 'labelled':
      return labelled(block.label, block.text);
    case 'foreign':
      return labelled(block.label, html`<span lang="${block.lang}">${block.text}</span>`);
    case 'figure':
      return labelled(block.label, html`<strong class="ink" style="font:700 36px/1.2 ${SANS};color:${LIGHT.ink};">${block.text}</strong>`);
    case 'steps':
      return html`<ol style="margin:0 0 16px;padding:0 0 0 24px;">
        ${block.items.map((item) => html`<li style="margin:0 0 8px;">${item}</li>`)}
      </ol>`;
    case 'links':
      return html`<ul style="margin:0 0 16px;padding:0 0 0 24px;">
        ${block.items.map(({ text, url }) => html`<li style="margin:0 0 8px;">${link(url, text)}</li>`)}
      </ul>`;
    case 'table':
      return tableHtml(block.columns, block.rows);
    case 'finding':
      return findingHtml(block);
    case 'button':
      return html`${button(block.url, block.text)}${small(html`${block.fallback}<br />${link(block.url, block.url)}`)}`;
    case 'small':
      return small(block.text);
    case 'link':
      return small(link(block.url, block.text));
  }
}

function tableHtml(columns: readonly [string, string], rows: readonly (readonly [string, string])[]): Html {
  const line = `border-bottom:1px solid ${LIGHT.line};`;
  return html`<table class="line" width="100%" cellpadding="0" cellspacing="0" border="0" style="margin:0 0 16px;border-collapse:collapse;">
    <tr>
      <th scope="col" class="soft line" style="padding:6px 8px 6px 0;text-align:left;font-weight:600;font-size:14px;color:${LIGHT.soft};${line}">
        ${columns[0]}
      </th>
      <th scope="col" class="soft line" style="padding:6px 0;text-align:right;font-weight:600;font-size:14px;color:${LIGHT.soft};${line}">
        ${columns[1]}
      </th>
    </tr>
    ${rows.map(([name, value], index) => {
      // The last row is the total.
      const weight = index === rows.length - 1 ? 700 : 400;
      return html`<tr>
          <th scope="row" class="line" style="padding:6px 8px 6px 0;text-align:left;font-weight:${weight};${line}">${name}</th>
          <td class="line" style="padding:6px 0;text-align:right;font-weight:${weight};font-variant-numeric:tabular-nums;${line}">${value}</td>
        </tr>`;
    })}
  </table>`;
}

function findingHtml({ impact, severity, title, elements, parts }: Extract<Block, { is: 'finding' }>): Html {
  const color = LIGHT[impact];
  return html`<div class="${impact}" style="margin:0 0 24px;padding:0 0 0 14px;border-left:4px solid ${color};color:${color};">
    <h3 class="ink" style="margin:0;font:700 18px/1.35 ${SANS};color:${LIGHT.ink};overflow-wrap:anywhere;">${title}</h3>
    <p style="margin:2px 0 8px;font-size:14px;">
      <strong class="${impact}" style="color:${color};">${severity}</strong> <span class="soft" style="color:${LIGHT.soft};">· ${elements}</span>
    </p>
    <div class="ink" style="color:${LIGHT.ink};font-size:16px;">
      ${parts.map(partHtml)}
    </div>
  </div>`;
}

function partHtml(part: FindingPart): Html {
  if ('contrast' in part) return contrastHtml(part.contrast);
  if ('text' in part) return labelled(part.label, part.text);
  return html`<p class="soft" style="margin:10px 0 4px;font-size:14px;color:${LIGHT.soft};">${part.label}</p>
    ${code(part.code)}`;
}

/** The colours are blocks of text with a ground, because mail programs show no drawings. */
function contrastHtml({ ratio, colors, size }: ContrastText): Html {
  const swatch = (color: string): Html =>
    html`<span
        aria-hidden="true"
        style="display:inline-block;width:16px;height:16px;vertical-align:-2px;background-color:${color};border:1px solid ${LIGHT.soft};border-radius:3px;"
        >&nbsp;</span
      >&nbsp;`;
  return html`<p style="margin:10px 0 12px;">
    <strong>${ratio}</strong>${colors.map(({ name, color }) => html`<br />${isDrawable(color) ? swatch(color) : ''}${name}`)}
    ${size === undefined ? '' : html`<br />${size}`}
  </p>`;
}

/** The widest line of a text that is not one word. */
const WIDTH = 76;

export const toText = (blocks: readonly Block[]): string => `${blocks.map(blockText).join('\n\n')}\n`;

function blockText(block: Block): string {
  switch (block.is) {
    case 'h1':
      return `${wrapped(block.text)}\n${'='.repeat(Math.min(WIDTH, [...block.text].length))}`;
    case 'h2':
      return `${wrapped(block.text)}\n${'-'.repeat(Math.min(WIDTH, [...block.text].length))}`;
    case 'paragraph':
    case 'small':
      return wrapped(block.text);
    case 'labelled':
    case 'foreign':
    case 'figure':
      return wrapped(`${block.label}: ${block.text}`);
    case 'steps':
      return block.items.map((item, index) => wrapped(`${index + 1}. ${item}`, '   ')).join('\n');
    case 'links':
      return block.items.map(({ text, url }) => `${wrapped(`* ${text}`, '  ')}\n  ${url}`).join('\n');
    case 'table':
      return block.rows.map(([name, value]) => `${name}: ${value}`).join('\n');
    case 'finding': {
      const lines = block.parts.map((part) => wrapped(partText(part), '  '));
      return [wrapped(`* ${block.title}`, '  '), `  ${block.severity} · ${block.elements}`, ...lines.map((line) => `  ${line}`)].join('\n');
    }
    case 'button':
    case 'link':
      return `${block.text}:\n${block.url}`;
  }
}

function partText(part: FindingPart): string {
  if (!('contrast' in part)) return `${part.label}: ${'code' in part ? part.code : part.text}`;
  const { ratio, colors, size } = part.contrast;
  return [ratio, ...colors.map(({ name }) => name), ...(size === undefined ? [] : [size])].join(' · ');
}

/** Breaks lines between words. @param indent of every line but the first */
function wrapped(text: string, indent = ''): string {
  const lines = [''];
  for (const word of text.split(' ')) {
    const line = lines.at(-1)!;
    if (line !== '' && line !== indent && line.length + 1 + word.length > WIDTH) lines.push(`${indent}${word}`);
    else lines[lines.length - 1] = line === '' || line === indent ? `${line}${word}` : `${line} ${word}`;
  }
  return lines.join('\n');
}
