// The site of the documents, made from the Markdown files of the repository as they are: make site.
import path from 'node:path'
import { defineConfig } from 'vitepress'

const repository = 'https://github.com/userevents/userevents-go'

const style = `
/* A line of output, as long as a terminal is wide, fits on a desktop and wraps on a phone. */
:root { --vp-code-font-size: 13px; --vp-code-block-color: var(--vp-c-text-1); --vp-sidebar-width: 240px }
.vp-doc :not(pre) > code { font-size: 0.875em }
.vp-doc [class*="language-"] code { white-space: pre-wrap; overflow-wrap: anywhere; padding: 0 16px }
.vp-doc [class*="language-"] > span.lang { display: none }
.VPDoc.has-aside .content-container { max-width: 800px !important }
@media (min-width: 1280px) and (max-width: 1439px) {
  .VPDoc .aside { display: none !important }
  .VPLocalNav { display: block !important }
  .VPLocalNav .menu { display: none !important }
}
.vp-doc a > img { display: inline-block; margin-right: 8px }
.vp-doc table { font-size: 15px }
.vp-doc th, .vp-doc td { padding: 6px 12px }
@media (max-width: 639px) {
  .vp-doc table { font-size: 13px; line-height: 20px; overflow-wrap: break-word }
  .vp-doc th, .vp-doc td { padding: 4px 6px }
  .vp-doc [class*="language-"] code { font-size: 12px }
  .vp-doc td > code, .vp-doc th > code { overflow-wrap: anywhere }
}`

// The first words of commands. An indented block that begins with another one is output or a file.
const command = /^(#|\$|[A-Z_]+=|cat|cd|chown|curl|docker|echo|export|git|go|groupadd|kubectl|make|npm|perf|podman|ps|setcap|sudo|systemctl|trace-cmd|uevents)\b/

export default defineConfig({
  title: 'userevents-go',
  description: 'Debug logs, spans and metrics of a running Go program, as Linux user_events',
  srcDir: 'pages', // which build copies
  rewrites: {
    'README.md': 'index.md',
    'docs/README.md': 'docs/index.md',
    'examples/README.md': 'examples/index.md',
    'examples/:name/README.md': 'examples/:name/index.md',
    'collector/:name/README.md': 'collector/:name/index.md'
  },
  cleanUrls: true,
  base: process.env.SITE_BASE ?? '/', // GitHub Pages: /userevents-go/
  head: [['style', {}, style]],
  markdown: {
    // As GitHub makes the names of headings, which links in the files use.
    anchor: {
      slugify: (heading) => heading.toLowerCase().replace(/[^\p{L}\p{N}_ -]/gu, '').replaceAll(' ', '-')
    },
    // Files of the repository that are no pages of the site, such as sources, are links to the repository.
    config(md) {
      const open = md.renderer.rules.link_open!
      md.renderer.rules.link_open = (tokens, index, options, env, self) => {
        const href = tokens[index].attrGet('href')!
        if (!/^([a-z]+:|#)/.test(href) && (!/\.md(#.*)?$/.test(href) || href.includes('.ci/'))) {
          const file = path.posix.join(path.posix.dirname(env.relativePath), href)
          tokens[index].attrSet('href', `${repository}/blob/main/${file}`)
        } else if (!href.includes(':')) {
          tokens[index].attrSet('href', href.replace(/(^|\/)README\.md/, '$1index.md')) // rewrites do not hold for links
        }
        return open(tokens, index, options, env, self)
      }
      // Output would have the colour of strings.
      md.core.ruler.push('output', (state) => {
        for (const token of state.tokens) if (token.type === 'fence' && token.info === 'console') token.info = 'txt'
      })
      // Indented blocks look like those between fences.
      md.renderer.rules.code_block = (tokens, index, options, env, self) => {
        tokens[index].info = command.test(tokens[index].content) ? 'sh' : 'txt'
        return md.renderer.rules.fence!(tokens, index, options, env, self)
      }
      // {{ }} in code is no template.
      md.renderer.rules.code_inline = (tokens, index, options, env, self) =>
        `<code v-pre${self.renderAttrs(tokens[index])}>${md.utils.escapeHtml(tokens[index].content)}</code>`
    }
  },
  themeConfig: {
    nav: [
      { text: 'Getting started', link: '/docs/getting-started' },
      { text: 'Documents', link: '/docs/' }
    ],
    sidebar: [
      {
        text: 'Begin',
        items: [
          { text: 'Overview', link: '/' },
          { text: 'Getting started', link: '/docs/getting-started' },
          { text: 'All documents', link: '/docs/' }
        ]
      },
      {
        text: 'How to',
        items: [
          { text: 'Examples', link: '/examples/' },
          { text: 'Operating', link: '/docs/operating' },
          { text: 'Collector', link: '/docs/collector' },
          { text: 'Troubleshooting', link: '/docs/troubleshooting' },
          { text: 'FAQ', link: '/docs/faq' }
        ]
      },
      {
        text: 'Reference',
        items: [
          { text: 'The command', link: '/docs/command' },
          { text: 'Compatibility', link: '/docs/compatibility' },
          { text: 'Wire formats', link: '/docs/wire-formats' },
          { text: 'Reliability', link: '/docs/reliability' },
          { text: 'The receiver', link: '/collector/usereventsreceiver/' },
          { text: 'Changelog', link: '/CHANGELOG' }
        ]
      },
      {
        text: 'Explanation',
        items: [
          { text: 'How it works', link: '/docs/how-it-works' },
          { text: 'Security', link: '/SECURITY' },
          { text: 'Benchmarks', link: '/docs/benchmarks' }
        ]
      },
      {
        text: 'Contribute',
        items: [
          { text: 'Contributing', link: '/CONTRIBUTING' },
          { text: 'Upstream', link: '/docs/contrib' }
        ]
      }
    ],
    search: { provider: 'local' },
    outline: [2, 3],
    socialLinks: [{ icon: 'github', link: repository }]
  }
})
