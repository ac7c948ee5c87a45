import { describe, expect, it } from '@jest/globals';
import { html as markup, type Html, type Piece } from './html.js';

// Under another name than `html`, whose templates the formatter rewrites.

const hostile = `<script>alert('1')</script>&"\0\``;
const safe = '&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;&amp;&quot;\uFFFD`';
const own = markup`<b>&amp;</b>`;

describe('a value in a template', () => {
  it.each<[string, Html, string]>([
    ['in text', markup`<p>${hostile}</p>`, `<p>${safe}</p>`],
    ['in an attribute', markup`<p title="a ${hostile} b"></p>`, `<p title="a ${safe} b"></p>`],
    ['in what holds text only', markup`<textarea>${'</textarea>'}</textarea>`, '<textarea>&lt;/textarea&gt;</textarea>'],
    [
      'in SVG',
      markup`<svg viewBox="0 0 ${10} 5"><path d="${'M0 0"/>'}"/></svg>`,
      '<svg viewBox="0 0 10 5"><path d="M0 0&quot;/&gt;"/></svg>',
    ],
    ['as a segment of an address', markup`<a href="/sources/${`a/b?c#d" '`}">x</a>`, '<a href="/sources/a%2Fb%3Fc%23d%22%20%27">x</a>'],
    ['as a parameter', markup`<a href="?q=${'a&b=c'}&amp;n=${7}">x</a>`, '<a href="?q=a%26b%3Dc&amp;n=7">x</a>'],
    ['as an address', markup`<a href="${'/keys?a=1&b=2'}">x</a>`, '<a href="/keys?a=1&amp;b=2">x</a>'],
    ['as a lone surrogate', markup`<a href="/sources/${'\uD800'}">x</a>`, '<a href="/sources/%EF%BF%BD">x</a>'],
    ['that is markup of ours', markup`<p>${own}${[own, ' ', '<']}</p>`, '<p><b>&amp;</b><b>&amp;</b> &lt;</p>'],
    ['that is not there', markup`<p>${null}${undefined}${false}${''}${[]}</p>`, '<p></p>'],
    ['that is zero', markup`<p>${0}</p>`, '<p>0</p>'],
    ['for a flag', markup`<input ?checked="${true}" ?disabled="${false}" name="${'n'}">`, '<input checked  name="n">'],
  ])('%s', (_, made, text) => {
    expect(String(made)).toBe(text);
  });

  it.each<[string, () => Html]>([
    ['in a script', () => markup`<script>${'x'}</script>`],
    ['in a style', () => markup`<style>${'x'}</style>`],
    ['in a comment', () => markup`<!-- ${'x'} -->`],
    ['as the name of a tag', () => markup`<${'x'}></p>`],
    ['as the name of an attribute', () => markup`<p ${'x'}="y"></p>`],
    ['in an attribute without quotes', () => markup`<p title=${'x'}></p>`],
    ['in single quotes', () => markup`<p title='${'x'}'></p>`],
    ['in a handler', () => markup`<p onclick="${'x'}"></p>`],
    ['in a style attribute', () => markup`<p style="${'x'}"></p>`],
    ['in a document', () => markup`<iframe srcdoc="${'x'}"></iframe>`],
    ['in a refresh', () => markup`<meta content="${'0;url=//e'}">`],
    ['behind a first slash', () => markup`<a href="/${'/evil.example'}">x</a>`],
    ['behind a scheme', () => markup`<a href="https://${'evil.example'}">x</a>`],
    ['behind an address', () => markup`<a href="${'/a'}${'x'}">x</a>`],
    ['as a list in an attribute', () => markup`<p title="${['a']}"></p>`],
    ['as markup in an attribute', () => markup`<p title="${own}"></p>`],
    ['as true', () => markup`<p>${true}</p>`],
    ['as another flag', () => markup`<input ?checked="${'yes'}">`],
    ['as a number that is none', () => markup`<p>${NaN}</p>`],
    ['as an object', () => markup`<p>${{ toString: () => '<b>' } as unknown as Piece}</p>`],
    ['in markup that is open', () => markup`<p>${'x'}</p`],
    ...['javascript:alert(1)', '//evil.example', '/\\evil.example', '/\t/evil.example', 'https://evil.example', ' /a', 'a', '/a\n', ''].map(
      (url): [string, () => Html] => [`as the address ${JSON.stringify(url)}`, () => markup`<a href="${url}">x</a>`],
    ),
  ])('is refused %s', (_, made) => {
    expect(made).toThrow(TypeError);
  });
});
