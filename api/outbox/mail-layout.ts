/** The layout of mails, and its parts. Colours are in `style` attributes, because many mail programs ignore style sheets. */
import { html as template } from 'hono/html';
import { DARK, LIGHT } from '../../core/colors.ts';
import type { Locale } from '../../core/scan/locales.ts';

/** Escaped HTML. */
export type Html = ReturnType<typeof template>;
export const html = template;

const SANS = 'Inter, Arial, sans-serif';
const MONO = "ui-monospace, 'Cascadia Code', Menlo, Consolas, 'DejaVu Sans Mono', monospace";

export interface MailPage {
  locale: Locale;
  title: string;
  body: Html;
  footer: Html;
}

/** A whole mail. Readable from 320 pixels, in light and dark mode, without images. */
export function mailPage({ locale, title, body, footer }: MailPage): Html {
  return html`<!doctype html>
    <html lang="${locale}" dir="ltr">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <meta name="supported-color-schemes" content="light dark" />
        <meta name="format-detection" content="telephone=no, date=no, address=no, email=no, url=no" />
        <title>${title}</title>
        ${styleSheet()}
      </head>
      <body class="ground ink" style="margin:0;padding:0;background-color:${LIGHT.ground};color:${LIGHT.ink};">
        <table role="presentation" class="ground" width="100%" cellpadding="0" cellspacing="0" border="0" style="background-color:${LIGHT.ground};">
          <tr>
            <td align="center" style="padding:24px 12px;">
              <table role="presentation" width="100%" cellpadding="0" cellspacing="0" border="0" style="max-width:600px;">
                <tr>
                  <td role="banner" style="padding:0 0 16px;text-align:left;">
                    <table role="presentation" cellpadding="0" cellspacing="0" border="0">
                      <tr>
                        <td style="width:8px;background-color:${LIGHT.paving};border-radius:2px;">&nbsp;</td>
                        <td class="ink" style="padding-left:10px;font:700 20px/1.2 ${SANS};color:${LIGHT.ink};">Curbcut</td>
                      </tr>
                    </table>
                  </td>
                </tr>
                <tr>
                  <td
                    role="main"
                    class="surface ink line"
                    style="padding:28px 20px 24px;background-color:${LIGHT.surface};color:${LIGHT.ink};border:1px solid ${LIGHT.line};border-radius:14px;text-align:left;font:17px/1.6 ${SANS};"
                  >
                    ${body}
                  </td>
                </tr>
                <tr>
                  <td role="contentinfo" class="soft" style="padding:20px 20px 0;text-align:left;font:14px/1.5 ${SANS};color:${LIGHT.soft};">${footer}</td>
                </tr>
              </table>
            </td>
          </tr>
        </table>
      </body>
    </html>`;
}

function styleSheet(): Html {
  return html`<style>
    :root {
      color-scheme: light dark;
    }
    @media (min-width: 520px) {
      td[role='main'] {
        padding: 36px 40px 32px !important;
      }
      td[role='contentinfo'] {
        padding: 20px 40px 0 !important;
      }
    }
    @media (prefers-color-scheme: dark) {
      .ground { background-color: ${DARK.ground} !important; }
      .surface { background-color: ${DARK.surface} !important; }
      .sunken { background-color: ${DARK.sunken} !important; }
      .ink { color: ${DARK.ink} !important; }
      .soft { color: ${DARK.soft} !important; }
      .link { color: ${DARK.link} !important; }
      .line { border-color: ${DARK.line} !important; }
      .accent { background-color: ${DARK.accent} !important; }
      .on-accent { color: ${DARK['on-accent']} !important; }
      .critical { color: ${DARK.critical} !important; border-color: ${DARK.critical} !important; }
      .serious { color: ${DARK.serious} !important; border-color: ${DARK.serious} !important; }
      .moderate { color: ${DARK.moderate} !important; border-color: ${DARK.moderate} !important; }
      .minor { color: ${DARK.minor} !important; border-color: ${DARK.minor} !important; }
    }
  </style>`;
}

export const h1 = (text: string): Html =>
  html`<h1 class="ink" style="margin:0 0 12px;font:700 28px/1.2 ${SANS};color:${LIGHT.ink};overflow-wrap:anywhere;">${text}</h1>`;

export const h2 = (text: string): Html =>
  html`<h2 class="ink" style="margin:32px 0 12px;font:700 21px/1.25 ${SANS};color:${LIGHT.ink};">${text}</h2>`;

export const paragraph = (content: Html | string): Html => html`<p style="margin:0 0 16px;overflow-wrap:anywhere;">${content}</p>`;

export const small = (content: Html | string): Html =>
  html`<p style="margin:0 0 12px;font-size:14px;overflow-wrap:anywhere;">${content}</p>`;

/** A link that looks like a button. The padding is on the link, so that all of it can be clicked. */
export const button = (url: string, text: string): Html =>
  html`<table role="presentation" cellpadding="0" cellspacing="0" border="0" style="margin:24px 0;">
    <tr>
      <td class="accent" style="background-color:${LIGHT.accent};border-radius:8px;">
        <a
          class="on-accent"
          href="${url}"
          style="display:inline-block;padding:13px 24px;font:600 17px/1.3 ${SANS};color:${LIGHT['on-accent']};text-decoration:none;border-radius:8px;"
          >${text}</a
        >
      </td>
    </tr>
  </table>`;

export const link = (url: string, text: string): Html =>
  html`<a class="link" href="${url}" style="color:${LIGHT.link};text-decoration:underline;overflow-wrap:anywhere;">${text}</a>`;

/** Code of a tested page. */
export const code = (text: string): Html =>
  html`<p class="sunken ink" style="margin:0 0 4px;padding:10px 12px;background-color:${LIGHT.sunken};color:${LIGHT.ink};border-radius:6px;">
    <code style="font:14px/1.5 ${MONO};overflow-wrap:anywhere;word-break:break-word;">${text}</code>
  </p>`;

/** Name and value, one below the other. */
export const labelled = (label: string, value: Html | string): Html =>
  html`<p style="margin:0 0 12px;overflow-wrap:anywhere;">
    <span class="soft" style="font-size:14px;color:${LIGHT.soft};">${label}</span><br />${value}
  </p>`;

export { SANS };
