// The site of the documents, made from the Markdown files of the repository as they are: make site.
import path from 'node:path'
import { defineConfig } from 'vitepress'

const repository = 'https://github.com/userevents/userevents-go'

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
  // Lines of output and commands are as long as a terminal is wide.
  head: [['style', {}, '.vp-doc [class*="language-"] code { white-space: pre-wrap; overflow-wrap: anywhere }']],
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
      // Indented commands look like those between fences.
      md.renderer.rules.code_block = (tokens, index, options, env, self) => {
        tokens[index].info = 'sh'
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
        text: 'Use',
        items: [
          { text: 'Overview', link: '/' },
          { text: 'Getting started', link: '/docs/getting-started' },
          { text: 'FAQ', link: '/docs/faq' },
          { text: 'Examples', link: '/examples/' }
        ]
      },
      {
        text: 'Operate',
        items: [
          { text: 'Operating', link: '/docs/operating' },
          { text: 'The command', link: '/docs/command' },
          { text: 'Collector', link: '/docs/collector' },
          { text: 'Troubleshooting', link: '/docs/troubleshooting' },
          { text: 'Security', link: '/SECURITY' }
        ]
      },
      {
        text: 'Understand',
        items: [
          { text: 'How it works', link: '/docs/how-it-works' },
          { text: 'Wire formats', link: '/docs/wire-formats' },
          { text: 'Compatibility', link: '/docs/compatibility' },
          { text: 'Reliability', link: '/docs/reliability' },
          { text: 'Benchmarks', link: '/docs/benchmarks' },
          { text: 'Changelog', link: '/CHANGELOG' }
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
